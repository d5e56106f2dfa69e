import { OutOfMemoryError } from '@markbase/core';
import type { ResampleAxis } from './resample-axis.js';
import { RESAMPLE_MODULE } from './resample-module.js';
import { type WebAssemblyMemory, type WebAssemblyModule, webAssembly } from './web-assembly.js';

/** What resample.wat exports; all addresses are bytes in its memory. */
interface ResampleExports {
  readonly memory: WebAssemblyMemory;
  columns(
    source: number,
    starts: number,
    weights: number,
    outputs: number,
    groups: number,
    target: number,
    bits: number,
  ): void;
  rows(source: number, rowBytes: number, weights: number, pairs: number, target: number, bits: number): void;
}

const PAGE_BYTES = 65_536;
const VECTOR_BYTES = 16;

let compiled: WebAssemblyModule | null = null;

/** The vector code of one resize, with its own memory. */
export class Resampler {
  readonly #exports: ResampleExports;
  #usedBytes = 0;

  constructor() {
    compiled ??= new webAssembly.Module(Buffer.from(RESAMPLE_MODULE, 'base64'));
    this.#exports = new webAssembly.Instance(compiled).exports as ResampleExports;
  }

  /**
   * Reserves memory, plus one vector, since the code reads and writes whole vectors.
   *
   * @returns its address
   * @throws OutOfMemoryError
   */
  reserve(sizeBytes: number): number {
    const address = this.#usedBytes;
    this.#usedBytes += Math.ceil(sizeBytes / VECTOR_BYTES + 1) * VECTOR_BYTES;
    const { memory } = this.#exports;
    const missing = this.#usedBytes - memory.buffer.byteLength;
    if (missing > 0) grow(memory, Math.ceil(missing / PAGE_BYTES), this.#usedBytes);
    return address;
  }

  /** Copies numbers to an address. */
  write(address: number, values: Uint8Array | Int16Array | Int32Array): void {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    new Uint8Array(this.#exports.memory.buffer).set(bytes, address);
  }

  /** A copy of bytes at an address. */
  read(address: number, sizeBytes: number): Uint8Array {
    return new Uint8Array(this.#exports.memory.buffer).slice(address, address + sizeBytes);
  }

  /**
   * Resamples the width of RGB rows, row by row.
   *
   * @param source [H, inputs, 3]
   * @param target address of [H, outputs, 3]
   */
  *columns(source: Uint8Array, height: number, axis: ResampleAxis, target: number): Generator<void, void> {
    const { outputs, taps, fractionBits } = axis;
    const sourceBytes = source.length / height;
    const row = this.reserve(Math.max(sourceBytes, reach(axis) * 3));
    const starts = this.reserve(outputs * 4);
    const weights = this.reserve(axis.weights.byteLength);
    this.write(
      starts,
      axis.starts.map((start) => start * 3),
    );
    this.write(weights, axis.weights);
    for (let y = 0; y < height; y++) {
      this.write(row, source.subarray(y * sourceBytes, (y + 1) * sourceBytes));
      this.#exports.columns(row, starts, weights, outputs, taps / 4, target + y * outputs * 3, fractionBits);
      yield;
    }
  }

  /**
   * Resamples the height, output row by output row.
   *
   * @param source address of [inputs, rowBytes], with `reach(axis)` rows of room
   * @param target address of [outputs, rowBytes]
   */
  *rows(source: number, rowBytes: number, axis: ResampleAxis, target: number): Generator<void, void> {
    const { outputs, starts, taps, fractionBits } = axis;
    const weights = this.reserve(axis.weights.byteLength);
    this.write(weights, axis.weights);
    for (let y = 0; y < outputs; y++) {
      const from = source + starts[y]! * rowBytes;
      this.#exports.rows(
        from,
        rowBytes,
        weights + y * taps * 2,
        taps / 2,
        target + y * rowBytes,
        fractionBits,
      );
      yield;
    }
  }
}

/** Samples that are read, including those of padding weights, which lie past the last input. */
export function reach({ starts, taps }: ResampleAxis): number {
  return starts.at(-1)! + taps;
}

function grow(memory: WebAssemblyMemory, pages: number, requestedBytes: number): void {
  try {
    memory.grow(pages);
  } catch {
    throw new OutOfMemoryError({ requestedBytes, label: 'resize of a picture' });
  }
}
