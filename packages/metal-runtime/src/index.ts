export type { Routing } from '../families/moe_route/node.js';
export { MAX_TOP_LOGPROBS } from '../families/sample/node.js';
export type { Axes, Axis, RowAxis } from './axes.js';
export { BLOCK_TOKENS } from './cache-tables.js';
export {
  type Device,
  type DeviceInfo,
  type DeviceKind,
  listIsas,
  type MatmulPeak,
  measureMatmulPeak,
  measureReadBandwidth,
  type OpenDeviceOptions,
  openDevice,
  openPlanDevice,
  type UploadCounts,
} from './device.js';
export type { DeviceBuffer } from './device-buffer.js';
export { checkSampling } from './encode-sampling.js';
export type { FeedForward, FeedForwardFactory, FeedForwardRequest } from './feed-forward.js';
export type { Ops } from './ops.js';
export type { PlannedDispatch, Program, ProgramPlan, RecordOptions } from './program.js';
export { FUSION_NAMES } from './recorder/fusions/index.js';
export { SoftTokenCache } from './soft-token-cache.js';
export type { SoftTokens } from './soft-tokens.js';
export type {
  ByteValues,
  InputValues,
  SamplingParams,
  StepInput,
  StepResult,
  TokenStep,
} from './step.js';
export { type UploadProgress, type UploadProgressOptions, UploadWatch } from './upload-watch.js';
export type { Value } from './value.js';
export {
  type QuantizeOnLoad,
  type SourceMatrix,
  type SourcePlainMatrix,
  type SourceTensor,
  WeightMapper,
  type WeightSource,
} from './weight-mapper.js';
export type {
  AdapterMatrices,
  ConvKernel,
  DepthwiseKernel,
  ExpertMatrix,
  FloatType,
  KvCache,
  Matrix,
  RelativeKeys,
  SmallFloatKind,
  Vector,
} from './weights.js';
