import type { TextModel } from '@markbase/text';
import type { PerformanceSample } from './playground-types.js';

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
