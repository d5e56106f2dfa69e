import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import { audioTokens, type Checkpoint, MAX_AUDIO_SAMPLES } from '@markbase/loader';
import type { UploadProgressOptions } from '@markbase/metal-runtime';

/** Options of `AudioModel.load`. */
export interface AudioModelOptions extends UploadProgressOptions {
  /** 'high': float32 everywhere. 'fast', the default: 8-bit activations for quantised weights. */
  readonly precision?: 'high' | 'fast';
  /** Bits to which the tower's unquantised matrices are quantised on load; default: they stay as they are. */
  readonly quantizeOnLoad?: 8 | 4;
  /** Maximum number of soft tokens of one step, over all clips that share it; the default, and the minimum, is that of a clip of 30 s. */
  readonly maxBatchTokens?: number;
  /** Size of the cache of soft tokens for repeated audio, in bytes; default 64 MiB, 0 = none. */
  readonly cacheBytes?: number;
  /** Looks for NaN and infinity after every operation; encoding then fails with NonFiniteError. Slow. */
  readonly checkFinite?: boolean;
  /** Fusions that the recorder leaves out, or false for all; for tests and measurements. */
  readonly fusions?: false | { readonly without: readonly string[] };
}

/** Options after defaults and checks. */
export interface AudioModelSettings {
  /** `high` computes in float32; `fast` in reduced precision. */
  readonly precision: 'high' | 'fast';
  /** Bits to which matrices are quantised while they are read; null = as stored. */
  readonly quantizeOnLoad: 8 | 4 | null;
  /** Maximum number of soft tokens of a step. */
  readonly maxBatchTokens: number;
  /** Memory for soft tokens of recent sounds. */
  readonly cacheBytes: number;
  /** Checks for NaN and infinity after every operation. */
  readonly checkFinite: boolean;
  /** Fusions that are disabled; false = all. */
  readonly fusions?: false | { without: readonly string[] };
}

const OPTIONS: OptionNames<AudioModelOptions> = {
  precision: true,
  quantizeOnLoad: true,
  maxBatchTokens: true,
  cacheBytes: true,
  checkFinite: true,
  fusions: true,
  onProgress: true,
  signal: true,
};
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;
/** Enough rows for some hours of audio; more would only cost memory. */
const MOST_BATCH_TOKENS = 65_536;

/** Completes and checks the options of a model. @throws InvalidArgumentError */
export function checkedSettings(
  { config }: Pick<Checkpoint, 'config'>,
  options: AudioModelOptions,
): AudioModelSettings {
  checkOptionNames(options, OPTIONS);
  const longest = audioTokens(MAX_AUDIO_SAMPLES, config).softTokens;
  const {
    precision = 'fast',
    quantizeOnLoad = null,
    maxBatchTokens = longest,
    cacheBytes = DEFAULT_CACHE_BYTES,
    checkFinite = false,
    fusions,
  } = options;
  const fail = (argument: string, expected: string, received: unknown): never => {
    throw new InvalidArgumentError({ argument, expected, received });
  };
  if (precision !== 'high' && precision !== 'fast') fail('precision', "'high' or 'fast'", precision);
  if (quantizeOnLoad !== null && quantizeOnLoad !== 8 && quantizeOnLoad !== 4) {
    fail('quantizeOnLoad', '8 or 4 bits', quantizeOnLoad);
  }
  if (!Number.isInteger(maxBatchTokens) || maxBatchTokens < longest || maxBatchTokens > MOST_BATCH_TOKENS) {
    fail('maxBatchTokens', `a whole number from ${longest} to ${MOST_BATCH_TOKENS}`, maxBatchTokens);
  }
  if (!Number.isInteger(cacheBytes) || cacheBytes < 0) {
    fail('cacheBytes', 'a whole number of at least 0', cacheBytes);
  }
  const settings = { precision, quantizeOnLoad, maxBatchTokens, cacheBytes, checkFinite };
  return fusions === undefined ? settings : { ...settings, fusions: fusions && { without: fusions.without } };
}
