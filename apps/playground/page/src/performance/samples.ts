import { signal } from '@preact/signals';
import type { PerformanceSample } from '../../../src/playground-api/playground-types.js';
import { getEvents } from '../api/playground-api.js';

/** Two minutes at two samples a second. */
const KEPT_SAMPLES = 240;
const RETRY_MS = 2000;

/** What the server was doing, the newest sample last. */
export const samples = signal<readonly PerformanceSample[]>([]);

/** Listens to the server until aborted; a broken connection is opened again. */
export async function followPerformance(abort: AbortSignal): Promise<void> {
  while (!abort.aborted) {
    try {
      for await (const { data } of getEvents('performance', abort)) {
        samples.value = [...samples.value, data as PerformanceSample].slice(-KEPT_SAMPLES);
      }
    } catch {
      // The panel shows what there was; the chat says what is wrong.
    }
    if (!abort.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
