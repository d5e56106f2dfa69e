export type { ByteRange } from './byte-range.js';
export { type DType, dtypeBits, isDType } from './dtype.js';
export { hasErrorCode, MarkBaseError } from './error.js';
export {
  ContextLengthError,
  CorruptFileError,
  DeviceError,
  DeviceUnavailableError,
  DisposedError,
  FileAccessError,
  InvalidArgumentError,
  InvalidConfigError,
  LimitExceededError,
  NativeAddonLoadError,
  NonFiniteError,
  OutOfMemoryError,
  ShapeMismatchError,
  UnsupportedMediaError,
  UnsupportedModelError,
  WeightMapError,
} from './errors.js';
export { checkOptionNames, type OptionNames } from './option-names.js';
