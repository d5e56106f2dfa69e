import { signal } from '@preact/signals';
import type { AnswerStatistics } from '../conversation/conversation.js';

const KEPT_ANSWERS = 50;

/** Statistics of the last answers on this page, newest last. */
export const answers = signal<readonly AnswerStatistics[]>([]);

/** Adds an answer. */
export function recordAnswer(statistics: AnswerStatistics): void {
  answers.value = [...answers.value, statistics].slice(-KEPT_ANSWERS);
}

/** Rates of an answer; null if nothing was measured. */
export function ratesOf(statistics: AnswerStatistics) {
  const { promptTokens, cachedTokens, completionTokens, firstTokenMs, totalMs } = statistics;
  const decodeMs = totalMs - firstTokenMs;
  const computed = promptTokens - cachedTokens;
  return {
    prefillPerSecond: firstTokenMs > 0 ? (computed * 1000) / firstTokenMs : null,
    // The prefill yields the first token.
    decodePerSecond: decodeMs > 0 && completionTokens > 1 ? ((completionTokens - 1) * 1000) / decodeMs : null,
    prefillShare: totalMs > 0 ? firstTokenMs / totalMs : 0,
  };
}
