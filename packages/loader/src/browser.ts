// The part of the package that does not need Node.

export type {
  AffineMatrix,
  ExpectedMatrix,
  FloatQuantizedMatrix,
  PlainMatrix,
  QuantizedTensor,
  StorageWarning,
  StoredMatrix,
  StoredTensor,
} from './checkpoint/stored-matrix.js';
export { weightBytes } from './checkpoint/weight-bytes.js';
export { createWeightIndex, type WeightIndex, type WeightIndexFields } from './checkpoint/weight-index.js';
export { canonicalName } from './checkpoint/weight-names.js';
export { type ModelConfig, parseModelConfig } from './config/model-config.js';
export type { QuantizationConfig } from './config/quantization-config.js';
export {
  type EstimateOptions,
  type EstimateSource,
  estimate,
  type MemoryEstimate,
  type StoredSize,
} from './estimate/estimate.js';
export { DownloadError, type DownloadRule } from './hub/download-error.js';
export * from './limits.js';
export * from './media/index.js';
export {
  type AffineOptions,
  type AffineParts,
  dequantizeAffine,
  quantizeAffine,
} from './quantization/affine-codec.js';
export { dequantizeFloat, type FloatParts } from './quantization/float-codec.js';
export { type FloatDType, fromFloat32, isFloatDType, toFloat32 } from './quantization/float-conversion.js';
export { quantizeFloat } from './quantization/float-encoder.js';
export { readMatrixRows } from './quantization/read-matrix-rows.js';
export type { HeaderOptions } from './safetensors/header.js';
export { type OpenPortableOptions, openSafetensors } from './safetensors/open-portable.js';
export type { ReadOptions, SafetensorsFile } from './safetensors/read-safetensors.js';
export { type TensorInfo, TensorView } from './safetensors/tensor-view.js';
export type { RedirectOptions } from './sources/follow-redirects.js';
export type { HttpSourceOptions } from './sources/http-source.js';
export type { PortableInput } from './sources/portable-source.js';
export type { HttpOptions } from './sources/request-span.js';
