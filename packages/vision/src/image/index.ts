// From a picture to patches: decode, count, resize, cut. Nothing here needs a device.
export { type DecodeOptions, decodeImage, imageSize } from './decode-image.js';
export { IMAGE_LIMITS, type ImageLimits } from './image-limits.js';
export type { ImageInput } from './image-source.js';
export {
  type Patches,
  type PatchLayout,
  type PixelRange,
  patchify,
  patchLayout,
  pixelValues,
  writePixels,
} from './patches.js';
export { type PreparedImage, type PrepareOptions, prepareDecoded, prepareImage } from './prepare-image.js';
export type { RawPixels } from './raw-pixels.js';
export { resizeImage, resizeImageInTurns } from './resize-image.js';
export type { RgbImage } from './rgb-image.js';
export { countTokens, targetSize } from './target-size.js';
