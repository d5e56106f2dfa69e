import { InvalidArgumentError } from '@markbase/core';
import type { UnifiedVisionConfig, VisionTowerConfig } from '@markbase/loader';
import type { RgbImage } from './rgb-image.js';

/** How a model cuts a picture: square patches, and square blocks of patches that become one soft token each. */
export interface PatchLayout {
  /** Edge of a patch in pixels: 16 for the towers, 48 for the unified embedder. */
  readonly patchEdge: number;
  /** Edge, in patches, of the block that becomes one soft token: 3 for the towers, 1 for the unified embedder. */
  readonly blockEdge: number;
}

/** The patches of one picture, those of one soft token side by side. */
export interface Patches extends PatchLayout {
  /** Patches: softTokens * blockEdge². */
  readonly patchCount: number;
  /** Soft tokens: columns * rows of blocks, row by row. */
  readonly softTokens: number;
  /** Values of one patch: patchEdge² * 3. */
  readonly patchWidth: number;
  /**
   * [patchCount, patchWidth]: patch n * blockEdge² + b is number b, row by row, of block n, row by row. A patch is
   * flattened as (row, column, channel): red, green, blue of its first pixel come first.
   */
  readonly pixels: Uint8Array;
  /** [patchCount, 2]: x, then y of each patch on the grid of patches. */
  readonly positions: Int32Array;
}

/** How the model of this `vision_config` cuts a picture. */
export function patchLayout(config: VisionTowerConfig | UnifiedVisionConfig): PatchLayout {
  if ('modelPatchSize' in config) return { patchEdge: config.modelPatchSize, blockEdge: 1 };
  return { patchEdge: config.patchSize, blockEdge: config.poolingKernelSize };
}

/**
 * Cuts a picture into patches.
 *
 * @param image a picture whose sides are multiples of patchEdge * blockEdge, such as `resizeImage` makes for `targetSize`
 * @throws InvalidArgumentError for other sides
 */
export function patchify(image: RgbImage, layout: PatchLayout): Patches {
  const { patchEdge, blockEdge } = layout;
  const side = patchEdge * blockEdge;
  const columns = wholeBlocks('width', image.width, side);
  const rows = wholeBlocks('height', image.height, side);
  const softTokens = columns * rows;
  const patchCount = softTokens * blockEdge ** 2;
  const patchWidth = patchEdge ** 2 * 3;
  const pixels = new Uint8Array(patchCount * patchWidth);
  const positions = new Int32Array(patchCount * 2);
  const lineBytes = patchEdge * 3;
  const strideBytes = image.width * 3;
  let patch = 0;
  for (let block = 0; block < softTokens; block++) {
    const left = (block % columns) * blockEdge;
    const top = Math.floor(block / columns) * blockEdge;
    for (let inner = 0; inner < blockEdge ** 2; inner++, patch++) {
      const x = left + (inner % blockEdge);
      const y = top + Math.floor(inner / blockEdge);
      positions[patch * 2] = x;
      positions[patch * 2 + 1] = y;
      let from = y * patchEdge * strideBytes + x * lineBytes;
      let to = patch * patchWidth;
      for (let line = 0; line < patchEdge; line++, from += strideBytes, to += lineBytes) {
        pixels.set(image.data.subarray(from, from + lineBytes), to);
      }
    }
  }
  return { patchEdge, blockEdge, patchCount, softTokens, patchWidth, pixels, positions };
}

/** What a byte becomes: [0, 1] for the unified embedder, [-1, 1] for the towers (2 (p - 0.5), docs/gemma4.md section 3.2). */
export type PixelRange = 'unit' | 'symmetric';

const VALUES: Readonly<Record<PixelRange, Float32Array>> = {
  unit: Float32Array.from({ length: 256 }, (_, byte) => byte / 255),
  symmetric: Float32Array.from({ length: 256 }, (_, byte) => 2 * (byte / 255 - 0.5)),
};

/** [256]: the number that each byte becomes; always the same array. */
export function pixelValues(range: PixelRange): Float32Array {
  return VALUES[range];
}

/**
 * Writes bytes as the numbers that a model takes: p / 255, or 2 (p / 255 - 0.5).
 *
 * @param target float32; `pixels.length` values are written from `offset` on
 */
export function writePixels(pixels: Uint8Array, range: PixelRange, target: Float32Array, offset = 0): void {
  const table = pixelValues(range);
  for (let index = 0; index < pixels.length; index++) target[offset + index] = table[pixels[index]!]!;
}

function wholeBlocks(argument: string, pixels: number, side: number): number {
  if (pixels >= side && pixels % side === 0) return pixels / side;
  throw new InvalidArgumentError({
    argument,
    expected: `a multiple of ${side} pixels`,
    received: pixels,
    hint: 'Resize the picture to its targetSize first',
  });
}
