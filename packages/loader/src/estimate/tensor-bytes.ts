import type { DType } from '@markbase/core';

/** What an estimate needs to know about a tensor: only what its header says. */
export interface SizedTensor {
  /** Canonical name. */
  readonly name: string;
  /** Element type in the file. */
  readonly dtype: DType;
  /** Sizes of the axes. */
  readonly shape: readonly number[];
  /** Bytes in the file. */
  readonly sizeBytes: number;
}

/** Sums of bytes by some key. */
export type ByteTable = Readonly<Record<string, number>>;

const ARRAYS = /\.(weight|scales|biases|bias)$/;

/** Sums the bytes of tensors by a key, largest sum first. */
export function bytesBy(tensors: Iterable<SizedTensor>, keyOf: (tensor: SizedTensor) => string): ByteTable {
  const sums = new Map<string, number>();
  for (const tensor of tensors) {
    const key = keyOf(tensor);
    sums.set(key, (sums.get(key) ?? 0) + tensor.sizeBytes);
  }
  // fromEntries treats keys such as "__proto__" like any other.
  return Object.fromEntries([...sums].sort(([, a], [, b]) => b - a));
}

/** The part of a model that a tensor belongs to, such as `language_model.layers.mlp`, by its canonical name. */
export function moduleGroup(name: string): string {
  const parts = name.replace(ARRAYS, '').split('.');
  if (/norm|layer_scalar/.test(parts.at(-1) ?? '')) return `${parts[0]} norms and scalars`;
  const depth = parts[0] === 'language_model' && parts[1] === 'layers' ? 4 : 2;
  return parts
    .slice(0, depth)
    .filter((part) => !/^\d+$/.test(part))
    .join('.');
}

/** The modality that a tensor serves. */
export type ModelPart = 'text' | 'vision' | 'audio';

/** Says which modality a tensor serves, by its canonical name. */
export function modelPart(name: string): ModelPart {
  if (/^(?:vision_tower|vision_embedder|embed_vision)\./.test(name)) return 'vision';
  if (/^(?:audio_tower|embed_audio)\./.test(name)) return 'audio';
  return 'text';
}
