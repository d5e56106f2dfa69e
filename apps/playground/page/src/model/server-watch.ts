import { signal } from '@preact/signals';
import { getJson } from '../api/playground-api.js';
import { RequestError } from '../api/request-error.js';
import { type LoadedModel, loadedModel, loading, refreshState } from './model-state.js';

/** False from the moment at which the server does not answer until it does again. */
export const isConnected = signal(true);

/** A few bytes from the same machine; a stream would take one of the six connections that browsers allow. */
const USUAL_MS = 3000;
const LOST_MS = 1000;

let timer: ReturnType<typeof setTimeout> | undefined;

/** Follows the model of the server, and whether there is a server, while the page is visible. */
export function watchServer(): void {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void checkServer();
  });
  schedule();
}

/** Asks now which model the server runs. */
export async function checkServer(): Promise<void> {
  try {
    const { model } = await getJson<{ model: LoadedModel | null }>('model');
    const wasLost = !isConnected.value;
    isConnected.value = true;
    // While this page loads a model, it knows more than the answer.
    if (loading.value) return;
    if (wasLost) await refreshState();
    else if (JSON.stringify(model) !== JSON.stringify(loadedModel.value)) loadedModel.value = model;
  } catch (error) {
    // Any status shows that the server is there.
    isConnected.value = !(error instanceof RequestError && error.status === 0);
  } finally {
    schedule();
  }
}

function schedule(): void {
  clearTimeout(timer);
  timer = setTimeout(
    () => {
      if (document.hidden) schedule();
      else void checkServer();
    },
    isConnected.value ? USUAL_MS : LOST_MS,
  );
}
