import { imageTokens, type PatchGeometry, type PixelSize } from '@markbase/loader';

/**
 * Size that a picture is resized to for a budget of soft tokens; the picture is not needed.
 *
 * @param width W in pixels, of the upright picture
 * @param height H in pixels
 * @param budget 70, 140, 280 (the default), 560 or 1120
 * @param geometry edges of patch and pooling block; by default those of the released models, 16 and 3
 * @throws InvalidArgumentError for another budget, or sides that are not whole numbers from 1
 */
export function targetSize(
  width: number,
  height: number,
  budget?: number,
  geometry?: PatchGeometry,
): PixelSize {
  const target = imageTokens({ width, height }, budget, geometry);
  return { width: target.width, height: target.height };
}

/** Soft tokens of a picture of this size: the area of its `targetSize` in blocks of 48 * 48 pixels; at most the budget. */
export function countTokens(
  width: number,
  height: number,
  budget?: number,
  geometry?: PatchGeometry,
): number {
  return imageTokens({ width, height }, budget, geometry).softTokens;
}
