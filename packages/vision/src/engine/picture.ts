import { type Patches, writePixels } from '../image/index.js';

/** A picture as a step takes it: patches, those of one soft token side by side. */
export interface Picture {
  readonly patchCount: number;
  readonly softTokens: number;
  /** [patchCount, 2]: x, then y of each patch. */
  readonly positions: Int32Array;
  /** Writes [patchCount, patchWidth] values as the model takes them, row-major, from `offset` on. */
  writePixels(target: Float32Array, offset: number): void;
}

/** Patches as a step takes them: bytes become [-1, 1] for towers, [0, 1] for the unified embedder. */
export function pictureOf(patches: Patches, kind: 'tower' | 'unified'): Picture {
  const { patchCount, softTokens, positions, pixels } = patches;
  const range = kind === 'tower' ? 'symmetric' : 'unit';
  return {
    patchCount,
    softTokens,
    positions,
    writePixels: (target, offset) => writePixels(pixels, range, target, offset),
  };
}
