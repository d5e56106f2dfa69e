import type { DType } from '@markbase/core';
import type { TensorSpec } from './file-layout.js';

/** A tensor to be written: what it is, and its bytes in pieces, so that huge files need little memory. */
export interface TensorSource {
  /** Name of the tensor. */
  readonly name: string;
  /** Element type to write. */
  readonly dtype: DType;
  /** Sizes of the axes. */
  readonly shape: readonly number[];
  /** The bytes, in order; called once. */
  chunks(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** A piece of one tensor of a group. */
export interface GroupChunk {
  /** Place of the tensor in `tensors`. */
  readonly index: number;
  readonly bytes: Uint8Array;
}

/** Tensors that one computation produces together, such as codes, scales and biases; they share a file. */
export interface TensorGroup {
  readonly tensors: readonly TensorSpec[];
  /** The bytes of all of them; the pieces of each tensor in order. */
  chunks(): AsyncIterable<GroupChunk>;
}

/** A group of one. */
export function groupOf(source: TensorSource): TensorGroup {
  return {
    tensors: [{ name: source.name, dtype: source.dtype, shape: source.shape }],
    async *chunks() {
      for await (const bytes of source.chunks()) yield { index: 0, bytes };
    },
  };
}
