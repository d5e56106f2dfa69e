import { signal } from '@preact/signals';
import type { AnswerStatistics } from '../conversation/conversation.js';

const KEPT_ANSWERS = 50;

/** What the last answers of this page cost, the newest last. */
export const answers = signal<readonly AnswerStatistics[]>([]);

/** Adds an answer. */
export function recordAnswer(statistics: AnswerStatistics): void {
  answers.value = [...answers.value, statistics].slice(-KEPT_ANSWERS);
}

/** Rates of an answer; null where nothing was measured. */
export function ratesOf(statistics: AnswerStatistics) {
  const { promptTokens, cachedTokens, completionTokens, firstTokenMs, totalMs } = statistics;
  const decodeMs = totalMs - firstTokenMs;
  const computed = promptTokens - cachedTokens;
  return {
    prefillPerSecond: firstTokenMs > 0 ? (computed * 1000) / firstTokenMs : null,
    // The first token comes out of the prefill.
    decodePerSecond: decodeMs > 0 && completionTokens > 1 ? ((completionTokens - 1) * 1000) / decodeMs : null,
    prefillShare: totalMs > 0 ? firstTokenMs / totalMs : 0,
  };
}
