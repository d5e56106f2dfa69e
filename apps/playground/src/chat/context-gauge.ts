import type { GenerateEvent } from '@markbase/text';

const CELLS = 10;
/** A space at which a line does not end. */
const NO_BREAK = '\u00a0';
/** A rate over less time would mostly be noise. */
const LEAST_RATE_MS = 50;

/** The end of an answer: its length, speed, and how full the context is. */
export function answerSummary(
  { usage, timings, reason }: Extract<GenerateEvent, { type: 'finish' }>,
  contextTokens: number,
): string {
  const { promptTokens, completionTokens } = usage;
  const decodeMs = timings.totalMs - timings.firstTokenMs;
  const rate = ((completionTokens - 1) / decodeMs) * 1000;
  const isCut = reason === 'length';
  return [
    `${completionTokens} tokens${isCut ? ', cut' : ''}`,
    ...(decodeMs >= LEAST_RATE_MS ? [`${rate.toFixed(rate < 10 ? 1 : 0)} tokens/s`] : []),
    `${(timings.firstTokenMs / 1000).toFixed(2)} s to the first`,
    gauge(promptTokens + completionTokens, contextTokens),
  ]
    .map((part) => part.replaceAll(' ', NO_BREAK))
    .join(' · ');
}

/** `context ██░░░░░░░░ 21% of 2,048`. */
function gauge(used: number, total: number): string {
  const share = Math.min(1, used / total);
  const filled = Math.round(share * CELLS);
  const bar = '█'.repeat(filled) + '░'.repeat(CELLS - filled);
  return `context ${bar} ${Math.round(share * 100)}% of ${total.toLocaleString('en')}`;
}
