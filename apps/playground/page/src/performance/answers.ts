import { signal } from '@preact/signals';
import type { AnswerStatistics } from '../conversation/conversation.js';

const KEPT_ANSWERS = 50;
/** A rate over less time says more about the clock than about the model. */
const SHORTEST_MS = 50;

/** Statistics of the last answers on this page, newest last. */
export const answers = signal<readonly AnswerStatistics[]>([]);

/** Adds an answer. */
export function recordAnswer(statistics: AnswerStatistics): void {
  answers.value = [...answers.value, statistics].slice(-KEPT_ANSWERS);
}

/** Rates of an answer; null if the time was too short to measure. */
export function ratesOf(statistics: AnswerStatistics) {
  const { promptTokens, cachedTokens, completionTokens, firstTokenMs, totalMs } = statistics;
  const decodeMs = totalMs - firstTokenMs;
  const computed = promptTokens - cachedTokens;
  return {
    prefillPerSecond: firstTokenMs >= SHORTEST_MS ? (computed * 1000) / firstTokenMs : null,
    // The prefill yields the first token.
    decodePerSecond:
      decodeMs >= SHORTEST_MS && completionTokens > 1 ? ((completionTokens - 1) * 1000) / decodeMs : null,
    prefillShare: totalMs > 0 ? firstTokenMs / totalMs : 0,
  };
}
