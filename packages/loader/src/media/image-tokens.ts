import { InvalidArgumentError } from '@markbase/core';

/** Soft tokens that an image may take; models are trained with these budgets only. */
export const IMAGE_TOKEN_BUDGETS = [70, 140, 280, 560, 1120] as const;

/** One of the budgets. */
export type ImageTokenBudget = (typeof IMAGE_TOKEN_BUDGETS)[number];

/** Default budget of an image. */
export const DEFAULT_IMAGE_TOKENS = 280;

/** Width and height of a picture in pixels. */
export interface PixelSize {
  /** Pixels per row. */
  readonly width: number;
  /** Number of rows. */
  readonly height: number;
}

/** How a model cuts a picture into patches; the fields of `vision_config`. */
export interface PatchGeometry {
  /** Edge of a patch in pixels. */
  readonly patchSize: number;
  /** Edge, in patches, of the block that becomes one soft token. */
  readonly poolingKernelSize: number;
}

/** What an image becomes. */
export interface ImageTokens extends PixelSize {
  /** Rows that the image takes in the prompt. */
  readonly softTokens: number;
  /** Soft tokens and the two delimiters around them. */
  readonly promptTokens: number;
  /** Patches that the encoder sees. */
  readonly patchCount: number;
}

const RELEASED_GEOMETRY: PatchGeometry = { patchSize: 16, poolingKernelSize: 3 };
const DELIMITERS = 2;

/**
 * Size after resizing and soft tokens of an image, before anything is decoded or run.
 *
 * With side s = patchSize * poolingKernelSize = 48 and budget b: `f = sqrt(b * s * s / (H * W))`, target sides
 * `floor(f * H / s) * s` and `floor(f * W / s) * s`, n = product of the target sides / s². If a side would become 0, it is s, and the other one is `min(floor(long / short), b) * s`. Small images are enlarged.
 *
 * @param size width and height in pixels as the picture is shown, after an EXIF rotation
 * @param budget most soft tokens: 70, 140, 280, 560 or 1120
 * @throws InvalidArgumentError for another budget, sides that are not whole numbers from 1, or an area beyond 2^53
 */
export function imageTokens(
  size: PixelSize,
  budget: number = DEFAULT_IMAGE_TOKENS,
  geometry: PatchGeometry = RELEASED_GEOMETRY,
): ImageTokens {
  checkBudget(budget);
  const { width, height } = size;
  checkSide('width', width);
  checkSide('height', height);
  const side = geometry.patchSize * geometry.poolingKernelSize;
  const area = checkedArea(width, height);
  // The same order of operations as the reference: near a multiple of the side the last bit decides.
  const factor = Math.sqrt((budget * side ** 2) / area);
  const columns = Math.floor((factor * width) / side);
  const rows = Math.floor((factor * height) / side);
  const [wide, high] = withoutVanishedSide(columns, rows, size, budget);
  const softTokens = wide * high;
  return {
    width: wide * side,
    height: high * side,
    softTokens,
    promptTokens: softTokens + DELIMITERS,
    patchCount: softTokens * geometry.poolingKernelSize ** 2,
  };
}

/** They cannot both be 0: their unrounded product is the budget. */
function withoutVanishedSide(
  columns: number,
  rows: number,
  { width, height }: PixelSize,
  budget: number,
): [number, number] {
  if (rows === 0) return [Math.min(Math.floor(width / height), budget), 1];
  if (columns === 0) return [1, Math.min(Math.floor(height / width), budget)];
  return [columns, rows];
}

/** Requires one of the trained budgets. */
function checkBudget(budget: number): void {
  if ((IMAGE_TOKEN_BUDGETS as readonly number[]).includes(budget)) return;
  throw new InvalidArgumentError({
    argument: 'budget',
    expected: `one of ${IMAGE_TOKEN_BUDGETS.join(', ')} soft tokens`,
    received: budget,
  });
}

function checkSide(argument: string, pixels: number): void {
  if (Number.isSafeInteger(pixels) && pixels >= 1) return;
  throw new InvalidArgumentError({
    argument,
    expected: 'a whole number of pixels, from 1',
    received: pixels,
  });
}

function checkedArea(width: number, height: number): number {
  const area = width * height;
  if (Number.isSafeInteger(area)) return area;
  throw new InvalidArgumentError({
    argument: 'size',
    expected: 'fewer than 2^53 pixels',
    received: `${width} x ${height}`,
  });
}
