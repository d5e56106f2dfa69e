import type { TextModel } from '@markbase/text';
import type { PerformanceSample } from './playground-types.js';

const SAMPLE_MS = 500;
/** One minute. */
const KEPT_SAMPLES = 120;

/** Samples of the last minute, taken from the start on, so that a page that opens later shows what was before. */
export class PerformanceHistory {
  readonly #kept: PerformanceSample[] = [];

  /** @param model called for each sample; null if none is loaded */
  constructor(model: () => TextModel | null) {
    const sampler = new PerformanceSampler();
    const timer = setInterval(() => {
      this.#kept.push(sampler.sample(model()));
      if (this.#kept.length > KEPT_SAMPLES) this.#kept.shift();
    }, SAMPLE_MS);
    // It ends with the process.
    timer.unref();
  }

  /** Samples after a time in milliseconds since 1970, oldest first. */
  since(atMs: number): PerformanceSample[] {
    return this.#kept.filter((sample) => sample.atMs > atMs);
  }
}

/** Takes samples of a model's activity; each holds the rates since the previous one. */
export class PerformanceSampler {
  #last: {
    readonly atMs: number;
    readonly model: TextModel;
    readonly activity: TextModel['activity'];
  } | null = null;

  /** @param model null if none is loaded */
  sample(model: TextModel | null): PerformanceSample {
    const atMs = Date.now();
    const { rss, heapUsed } = process.memoryUsage();
    const memory = { atMs, residentBytes: rss, heapBytes: heapUsed };
    if (!model) {
      this.#last = null;
      return { ...memory, ...NOTHING };
    }
    const { activity, settings } = model;
    // The counters of another model cannot be compared with this one's.
    const last = this.#last?.model === model ? this.#last : null;
    this.#last = { atMs, model, activity };
    const seconds = last ? Math.max(1, atMs - last.atMs) / 1000 : 1;
    const since = (name: 'prefillTokens' | 'decodedTokens' | 'decodeSteps') =>
      last ? activity[name] - last.activity[name] : 0;
    const steps = since('decodeSteps');
    return {
      ...memory,
      prefillTokensPerSecond: since('prefillTokens') / seconds,
      decodeTokensPerSecond: since('decodedTokens') / seconds,
      running: activity.busySequences,
      slots: settings.maxSequences,
      meanBatch: steps > 0 ? since('decodedTokens') / steps : 0,
      cacheUse: activity.heldCacheBytes / model.cacheBytes,
    };
  }
}

const NOTHING = {
  prefillTokensPerSecond: 0,
  decodeTokensPerSecond: 0,
  running: 0,
  slots: 0,
  meanBatch: 0,
  cacheUse: 0,
};
