export type { Axes, Axis, RowAxis } from './axes.js';
export {
  type Device,
  type DeviceBuffer,
  type DeviceInfo,
  type DeviceKind,
  listIsas,
  measureReadBandwidth,
  type OpenDeviceOptions,
  openDevice,
} from './device.js';
export { checkSampling } from './encode-sampling.js';
export type { FeedForward, FeedForwardFactory, FeedForwardRequest } from './feed-forward.js';
export type { Routing } from './ops/moe-route.js';
export type { Ops } from './ops/ops.js';
export { MAX_TOP_LOGPROBS } from './ops/sample.js';
export type { Value } from './ops/value.js';
export type { Program, ProgramPlan, RecordOptions } from './program.js';
export { FUSION_NAMES } from './recorder/fusions/index.js';
export type { SoftTokens } from './soft-tokens.js';
export type { SamplingParams, StepInput, StepResult } from './step.js';
export type { ExpertMatrix, FloatType, KvCache, Matrix, Vector } from './weights.js';
