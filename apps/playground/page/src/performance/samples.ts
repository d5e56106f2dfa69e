import { signal } from '@preact/signals';
import type { PerformanceSample } from '../../../src/playground-api/playground-types.js';
import { getEvents } from '../api/playground-api.js';

/** Two minutes at two samples a second. */
const KEPT_SAMPLES = 240;
const RETRY_MS = 2000;

/** Samples of the server's activity, newest last. */
export const samples = signal<readonly PerformanceSample[]>([]);

/** Follows the server's samples until aborted; reconnects after errors. */
export async function followPerformance(abort: AbortSignal): Promise<void> {
  while (!abort.aborted) {
    try {
      for await (const { data } of getEvents('performance', abort)) {
        samples.value = [...samples.value, data as PerformanceSample].slice(-KEPT_SAMPLES);
      }
    } catch {
      // The panel keeps showing the old samples; the chat reports the error.
    }
    if (!abort.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
