export type { Finding } from '../checkpoint/finding.js';
export {
  type CheckpointDiff,
  type DiffOptions,
  diffCheckpoints,
  type TensorDifference,
} from './diff-checkpoints.js';
export { type ExpectedTensor, expectedModules } from './expected-modules.js';
export {
  type CheckpointReport,
  describeFolder,
  type InspectSource,
  inspectCheckpoint,
  type ReportedTensor,
} from './inspect-checkpoint.js';
export { type ModuleStorage, moduleStorages } from './module-storage.js';
export {
  type ValidateOptions,
  type ValidationReport,
  validateCheckpoint,
} from './validate-checkpoint.js';
export { type VariantName, variantOf } from './variant.js';
