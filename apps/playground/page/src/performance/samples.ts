import { signal } from '@preact/signals';
import type { PerformanceSample } from '../../../src/playground-api/playground-types.js';
import { getEvents } from '../api/playground-api.js';

/** The time that plots show. */
export const WINDOW_SECONDS = 60;
const RETRY_MS = 2000;

/** Samples of the server's activity in the last minute, newest last. The server takes them all the time. */
export const samples = signal<readonly PerformanceSample[]>([]);

/** Follows the server's samples until aborted; reconnects after errors. */
export async function followPerformance(abort: AbortSignal): Promise<void> {
  while (!abort.aborted) {
    try {
      for await (const { data } of getEvents('performance', abort)) add(data as PerformanceSample);
    } catch {
      // The panel keeps showing the old samples; the chat reports the error.
    }
    if (!abort.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function add(sample: PerformanceSample): void {
  // A new connection begins with the last minute again.
  if (sample.atMs <= (samples.value.at(-1)?.atMs ?? 0)) return;
  const firstMs = sample.atMs - 1000 * WINDOW_SECONDS;
  samples.value = [...samples.value.filter(({ atMs }) => atMs >= firstMs), sample];
}

/** Samples of half a second are joined to this many seconds: a step more or less then makes no jump. */
const JOINED_SAMPLES = 4;

/** Rates as means of the last two seconds, without pauses; 0 in a pause. */
export function smoothed(rates: readonly number[]): number[] {
  return rates.map((now, index) => {
    if (now === 0) return 0;
    const joined = rates.slice(Math.max(0, index - JOINED_SAMPLES + 1), index + 1).filter((rate) => rate > 0);
    return joined.reduce((sum, rate) => sum + rate, 0) / joined.length;
  });
}

/** The last value that is not zero: what an answer reached still shows after its end. */
export function lastValue(values: readonly number[]): number {
  return values.findLast((value) => value > 0) ?? 0;
}
