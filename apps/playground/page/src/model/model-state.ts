import { signal } from '@preact/signals';
import type {
  LoadedModel,
  LoadProgress,
  LoadRequest,
  PlaygroundState,
} from '../../../src/playground-api/playground-types.js';
import { describeError } from '../api/describe-error.js';
import { getJson, postEvents } from '../api/playground-api.js';
import { RateMeter } from './rate-meter.js';

export type { LoadedModel, MediaSupport } from '../../../src/playground-api/playground-types.js';

/** What the server says about itself; null = not asked yet. */
export const serverState = signal<PlaygroundState | null>(null);
/** The model that answers; null = none. */
export const loadedModel = signal<LoadedModel | null>(null);
/** How far loading is; null = nothing is being loaded. */
export const loading = signal<LoadingState | null>(null);
/** Why the server could not be asked, or the model not be loaded; null = nothing is wrong. */
export const modelError = signal<string | null>(null);

/** Loading, with the rate of what it downloads. */
export interface LoadingState extends LoadProgress {
  /** Bytes a second over the last seconds; null = not known yet. */
  readonly bytesPerSecond: number | null;
}

let controller: AbortController | null = null;

/** Asks the server what it runs. */
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

/** Loads a model in the place of the one that is loaded. */
export async function loadModel(request: LoadRequest): Promise<void> {
  if (controller) return;
  controller = new AbortController();
  const { signal: abort } = controller;
  const rate = new RateMeter();
  modelError.value = null;
  loading.value = { stage: 'open', doneBytes: 0, totalBytes: 0, file: null, bytesPerSecond: null };
  try {
    for await (const { event, data } of postEvents('load', request, abort)) {
      if (event === 'ready') loadedModel.value = data as LoadedModel;
      if (event !== 'progress') continue;
      const progress = data as LoadProgress;
      loading.value = { ...progress, bytesPerSecond: rate.update(progress.doneBytes, performance.now()) };
    }
  } catch (error) {
    modelError.value = abort.aborted
      ? 'Loading was cancelled. Nothing was lost: it goes on where it stopped.'
      : describeError(error);
  } finally {
    controller = null;
    loading.value = null;
    const failure = modelError.value;
    await refreshState();
    modelError.value ??= failure;
  }
}

/** Stops loading. What was downloaded stays. */
export function cancelLoading(): void {
  controller?.abort();
}
