import { createHash } from 'node:crypto';
import { imageTokens } from '@markbase/loader';
import { type DecodeOptions, decodeImage } from './decode-image.js';
import type { ImageInput } from './image-source.js';
import { type Patches, type PatchLayout, patchify } from './patches.js';
import { resizeImageInTurns } from './resize-image.js';
import type { RgbImage } from './rgb-image.js';

/** A picture as a model takes it. */
export interface PreparedImage {
  /** Size of the resized picture in pixels. */
  readonly width: number;
  /** Number of pixel rows after resizing. */
  readonly height: number;
  /** The patches in the order of the tower's rows. */
  readonly patches: Patches;
  /** SHA-256 of the resized picture and its size: equal keys mean equal patches of a model. */
  readonly contentKey: string;
}

/** How a picture is prepared. */
export interface PrepareOptions extends DecodeOptions {
  /** Most soft tokens: 70, 140, 280, 560 or 1120. */
  readonly budget: number;
  /** How the model cuts pictures: `patchLayout(config)`. */
  readonly layout: PatchLayout;
}

/**
 * Decodes, resizes to the size for the budget, and cuts into patches (docs/gemma4.md section 3.1).
 *
 * @throws as `decodeImage`; InvalidArgumentError for another budget, before anything is read
 */
export async function prepareImage(input: ImageInput, options: PrepareOptions): Promise<PreparedImage> {
  checkBudget(options);
  return prepareDecoded(await decodeImage(input, options), options);
}

/** Like `prepareImage`, for a decoded picture. */
export async function prepareDecoded(image: RgbImage, options: PrepareOptions): Promise<PreparedImage> {
  const { budget, layout, signal } = options;
  const target = imageTokens(image, budget, geometryOf(layout));
  const resized = await resizeImageInTurns(image, target, signal);
  return {
    width: resized.width,
    height: resized.height,
    patches: patchify(resized, layout),
    contentKey: contentKeyOf(resized),
  };
}

/** Refuses an unknown budget before a file is opened. */
export function checkBudget({ budget, layout }: PrepareOptions): void {
  imageTokens({ width: 1, height: 1 }, budget, geometryOf(layout));
}

/** A block of one large patch and a block of small ones have the same edge, which is all that sizes depend on. */
function geometryOf({ patchEdge, blockEdge }: PatchLayout) {
  return { patchSize: patchEdge, poolingKernelSize: blockEdge };
}

function contentKeyOf({ width, height, data }: RgbImage): string {
  return createHash('sha256').update(`${width} x ${height}\n`).update(data).digest('hex');
}
