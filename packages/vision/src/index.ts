export type { PictureOutputs } from './engine/encoder.js';
export { type Picture, pictureOf } from './engine/picture.js';
export * from './image/index.js';
export { type TowerConfig, type UnifiedConfig, type VisionConfig, visionConfig } from './model/config.js';
export { type VerifyVisionOptions, type VisionVerification, verifyVision } from './verify/verify-vision.js';
export * from './video/index.js';
export {
  type BudgetedImage,
  type EncodedFrame,
  type EncodeOptions,
  type EncodeVideoOptions,
  VisionModel,
} from './vision-model.js';
export type { VisionModelOptions, VisionModelSettings } from './vision-model-options.js';
