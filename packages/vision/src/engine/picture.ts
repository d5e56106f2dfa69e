import type { InputValues } from '@markbase/metal-runtime';
import { type Patches, pixelValues } from '../image/index.js';

/** A picture as a step takes it: patches, with those of one soft token adjacent. */
export interface Picture {
  /** Number of patches. */
  readonly patchCount: number;
  /** Number of soft tokens that they become. */
  readonly softTokens: number;
  /** [patchCount, 2]: x, then y of each patch. */
  readonly positions: Int32Array;
  /** [patchCount, patchWidth] as the model takes them, row-major. */
  readonly pixels: InputValues;
}

/** Patches as a step takes them: bytes become [-1, 1] for towers, [0, 1] for the unified embedder. */
export function pictureOf(patches: Patches, kind: 'tower' | 'unified'): Picture {
  const { patchCount, softTokens, positions, pixels } = patches;
  const values = pixelValues(kind === 'tower' ? 'symmetric' : 'unit');
  return { patchCount, softTokens, positions, pixels: { bytes: pixels, values } };
}

/** The pixels of all pictures, concatenated; as bytes if all of them have the same values. */
export function joinPixels(pictures: readonly Picture[]): InputValues {
  const parts = pictures.map(({ pixels }) => pixels);
  const [first] = parts;
  if (parts.length === 1) return first!;
  const values = first && 'bytes' in first ? first.values : null;
  const bytes = parts.flatMap((part) => ('bytes' in part && part.values === values ? [part.bytes] : []));
  if (values && bytes.length === parts.length) {
    return { bytes: joinInto(new Uint8Array(lengthOf(bytes)), bytes), values };
  }
  const numbers = parts.map(numbersOf);
  return joinInto(new Float32Array(lengthOf(numbers)), numbers);
}

function numbersOf(pixels: InputValues): Float32Array {
  if (!('bytes' in pixels)) return pixels;
  return Float32Array.from(pixels.bytes, (byte) => pixels.values[byte]!);
}

function lengthOf(parts: readonly ArrayLike<number>[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function joinInto<Target extends Uint8Array | Float32Array>(
  target: Target,
  parts: readonly Target[],
): Target {
  let at = 0;
  for (const part of parts) {
    target.set(part, at);
    at += part.length;
  }
  return target;
}
