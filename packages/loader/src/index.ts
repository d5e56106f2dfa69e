export { type ByteRange, type DType, hasErrorCode, MarkBaseError } from '@markbase/core';
export { checkedModules } from './adapters/check-adapter.js';
export { type MergeOptions, type MergeReport, mergeAdapter } from './adapters/merge-adapter.js';
export { type Adapter, type AdapterModule, openAdapter } from './adapters/open-adapter.js';
export type { CheckpointFiles } from './checkpoint/locate-files.js';
export { type Checkpoint, type OpenOptions, openCheckpoint } from './checkpoint/open-checkpoint.js';
export { type ShardOptions, type ShardReport, shardCheckpoint } from './checkpoint/shard-checkpoint.js';
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
export { hasSeparateHead, separateHeadError } from './checkpoint/tied-head.js';
export type { AbsentTowers } from './checkpoint/towers.js';
export { weightBytes } from './checkpoint/weight-bytes.js';
export { createWeightIndex, type WeightIndex, type WeightIndexFields } from './checkpoint/weight-index.js';
export { canonicalName } from './checkpoint/weight-names.js';
export type { AudioTowerConfig, UnifiedAudioConfig } from './config/audio-config.js';
export type { GenerationConfig } from './config/generation-config.js';
export type { LayerConfig, RopeConfig } from './config/layer-config.js';
export {
  type Gemma4AssistantConfig,
  type Gemma4Config,
  type Gemma4UnifiedConfig,
  type ModelConfig,
  parseModelConfig,
  type SpecialTokenIds,
} from './config/model-config.js';
export type { AffineParameters, QuantizationConfig } from './config/quantization-config.js';
export type { ExpertsConfig, TextConfig } from './config/text-config.js';
export type { UnifiedVisionConfig, VisionTowerConfig } from './config/vision-config.js';
export type { ActiveBytes } from './estimate/active-bytes.js';
export {
  type EstimateOptions,
  type EstimateSource,
  estimate,
  type MemoryEstimate,
  type MemoryFit,
  type StoredSize,
} from './estimate/estimate.js';
export { cacheBytes, type KvBytes, type KvElementBytes, kvBytes, kvReadBytes } from './estimate/kv-bytes.js';
export {
  type ByteTable,
  bytesBy,
  type ModelPart,
  modelPart,
  moduleGroup,
  type SizedTensor,
} from './estimate/tensor-bytes.js';
export * from './ffmpeg/index.js';
export * from './hub/index.js';
export * from './limits.js';
export * from './media/index.js';
export {
  type AffineBits,
  type AffineGroupSize,
  type AffineOptions,
  type AffineParts,
  dequantizeAffine,
  quantizeAffine,
} from './quantization/affine-codec.js';
export { dequantizeFloat, type FloatParts } from './quantization/float-codec.js';
export { type FloatDType, fromFloat32, isFloatDType, toFloat32 } from './quantization/float-conversion.js';
export { quantizeFloat } from './quantization/float-encoder.js';
export { onLoadQuantizer } from './quantization/on-load-quantizer.js';
export {
  FLOAT_FORMATS,
  type FloatParameters,
  type FloatQuantizationMode,
  type QuantizationMode,
  type QuantizationParameters,
} from './quantization/quantization-mode.js';
export {
  type QuantizeOptions,
  type QuantizeProgress,
  type QuantizeReport,
  quantizeCheckpoint,
} from './quantization/quantize-checkpoint.js';
export {
  type QuantizedMatrix,
  type QuantizeMatrixOptions,
  quantizeMatrix,
} from './quantization/quantize-matrix.js';
export { DEFAULT_QUANTIZE_RULES, type QuantizeRule } from './quantization/quantize-rules.js';
export { readMatrixRows } from './quantization/read-matrix-rows.js';
export * from './reference/index.js';
export * from './report/index.js';
export { type FileLayout, type PlannedTensor, planFile, type TensorSpec } from './safetensors/file-layout.js';
export type { HeaderOptions } from './safetensors/header.js';
export {
  type OpenSafetensorsOptions,
  openSafetensors,
  type SafetensorsInput,
} from './safetensors/open-safetensors.js';
export type { ReadOptions, SafetensorsFile } from './safetensors/read-safetensors.js';
export type { TensorSource } from './safetensors/tensor-group.js';
export { type TensorInfo, TensorView } from './safetensors/tensor-view.js';
export { type WriteOptions, type WriteProgress, writeSafetensors } from './safetensors/write-safetensors.js';
export {
  type ShardedWriteOptions,
  writeShardedCheckpoint,
} from './safetensors/write-sharded-checkpoint.js';
export type { RedirectOptions } from './sources/follow-redirects.js';
export type { HttpSourceOptions } from './sources/http-source.js';
export type { PortableInput } from './sources/portable-source.js';
export type { HttpOptions } from './sources/request-span.js';
