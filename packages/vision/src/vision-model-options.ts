import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import type { RecordOptions, UploadProgressOptions } from '@markbase/metal-runtime';

/** Options of `VisionModel.load`. */
export interface VisionModelOptions extends UploadProgressOptions {
  /** Default 'fast'. */
  readonly precision?: RecordOptions['precision'];
  /** Quantises the plain matrices of the checkpoint in groups of 64 or 32 while it is loaded; default: as stored. */
  readonly quantizeOnLoad?: 4 | 8;
  /** Size of the cache of soft tokens for repeated pictures, in bytes; 0 = none. Default 64 MiB. */
  readonly cacheBytes?: number;
  /** Fusions to disable, or false to disable all; for tests and measurements. */
  readonly fusions?: RecordOptions['fusions'];
  /** Looks for NaN and infinity after every command; slow. */
  readonly checkFinite?: boolean;
  /** Measures the time of every command, for `VisionModel.profile`. */
  readonly profile?: boolean;
}

/** Options with their defaults. */
export interface VisionModelSettings {
  /** `high` computes in float32; `fast` in reduced precision. */
  readonly precision: RecordOptions['precision'];
  /** Bits to which matrices are quantised while they are read; null = as stored. */
  readonly quantizeOnLoad: 4 | 8 | null;
  /** Memory for soft tokens of recent pictures. */
  readonly cacheBytes: number;
}

const OPTIONS: OptionNames<VisionModelOptions> = {
  precision: true,
  quantizeOnLoad: true,
  cacheBytes: true,
  fusions: true,
  checkFinite: true,
  profile: true,
  onProgress: true,
  signal: true,
};
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;

/** Fills in defaults. @throws InvalidArgumentError for options out of range */
export function checkedSettings(options: VisionModelOptions): VisionModelSettings {
  checkOptionNames(options, OPTIONS);
  const { precision = 'fast', quantizeOnLoad = null, cacheBytes = DEFAULT_CACHE_BYTES } = options;
  const refuse = (argument: string, expected: string, received: unknown): never => {
    throw new InvalidArgumentError({ argument, expected, received });
  };
  if (precision !== 'fast' && precision !== 'high') refuse('precision', "'fast' or 'high'", precision);
  if (quantizeOnLoad !== null && quantizeOnLoad !== 4 && quantizeOnLoad !== 8) {
    refuse('quantizeOnLoad', '4 or 8 bits, or undefined', quantizeOnLoad);
  }
  if (!(Number.isSafeInteger(cacheBytes) && cacheBytes >= 0)) {
    refuse('cacheBytes', 'a whole number of bytes, from 0', cacheBytes);
  }
  return { precision, quantizeOnLoad, cacheBytes };
}
