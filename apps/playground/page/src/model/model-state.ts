import { signal } from '@preact/signals';
import type {
  LoadedModel,
  LoadProgress,
  LoadRequest,
  PlaygroundState,
} from '../../../src/playground-api/playground-types.js';
import { describeError } from '../api/describe-error.js';
import { getJson, postEvents, postJson } from '../api/playground-api.js';
import { RateMeter } from './rate-meter.js';
import { rememberModel } from './recent-models.js';

export type { LoadedModel, MediaSupport } from '../../../src/playground-api/playground-types.js';

/** The state of the server; null before the first request. */
export const serverState = signal<PlaygroundState | null>(null);
/** The loaded model; null if there is none. */
export const loadedModel = signal<LoadedModel | null>(null);
/** Progress of loading; null if nothing is being loaded. */
export const loading = signal<LoadingState | null>(null);
/** Why the server could not be reached or the model not be loaded; null if there was no error. */
export const modelError = signal<string | null>(null);

/** Progress of loading, with the download rate. */
export interface LoadingState extends LoadProgress {
  /** Bytes per second over the last seconds; null if not known yet. */
  readonly bytesPerSecond: number | null;
}

let controller: AbortController | null = null;

/** Asks the server for its state. */
export async function refreshState(): Promise<void> {
  try {
    const state = await getJson<PlaygroundState>('state');
    serverState.value = state;
    loadedModel.value = state.model;
    modelError.value = null;
  } catch (error) {
    modelError.value = describeError(error);
  }
}

/** Replaces the loaded model. */
export async function loadModel(request: LoadRequest): Promise<void> {
  if (controller) return;
  controller = new AbortController();
  const { signal: abort } = controller;
  const rate = new RateMeter();
  modelError.value = null;
  loading.value = { stage: 'open', doneBytes: 0, totalBytes: 0, file: null, bytesPerSecond: null };
  try {
    for await (const { event, data } of postEvents('load', request, abort)) {
      if (event === 'ready') {
        loadedModel.value = data as LoadedModel;
        rememberModel(request);
      }
      if (event !== 'progress') continue;
      const progress = data as LoadProgress;
      loading.value = { ...progress, bytesPerSecond: rate.update(progress.doneBytes, performance.now()) };
    }
  } catch (error) {
    modelError.value = abort.aborted
      ? 'Loading was cancelled. Downloaded data is kept; loading again resumes the download.'
      : describeError(error);
  } finally {
    controller = null;
    loading.value = null;
    const failure = modelError.value;
    await refreshState();
    modelError.value ??= failure;
  }
}

/** Frees the loaded model; the conversation stays. */
export async function unloadModel(): Promise<void> {
  try {
    await postJson('unload', {});
    await refreshState();
  } catch (error) {
    modelError.value = describeError(error);
  }
}

/** Cancels loading. Downloaded data is kept. */
export function cancelLoading(): void {
  controller?.abort();
}
