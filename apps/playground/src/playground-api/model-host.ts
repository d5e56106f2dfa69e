import { MarkBaseError } from '@markbase/core';
import { isRepositoryName, openCheckpoint, resolveCheckpoint } from '@markbase/loader';
import type { Server, ServerLimits } from '@markbase/server';
import type { LoadProgress, LoadRequest } from './playground-types.js';
import { type RunningModel, startModel } from './running-model.js';

/** What every model is served with. */
export interface HostOptions {
  readonly apiKey?: string;
  readonly allowedHosts?: readonly string[];
  readonly allowedImageHosts?: readonly string[];
  readonly threads?: number;
  readonly limits?: Partial<ServerLimits>;
}

/** Another model is being loaded already. */
export class LoadInProgressError extends MarkBaseError {
  readonly code = 'LOAD_IN_PROGRESS';

  constructor() {
    super('A model is being loaded already: wait for it, or cancel it where it was started');
  }
}

/** Holds the one model that a playground runs, and exchanges it for another. */
export class ModelHost {
  readonly #options: HostOptions;
  #running: RunningModel | null = null;
  #request: LoadRequest | null = null;
  #isLoading = false;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** The model that answers; null while there is none. */
  get running(): RunningModel | null {
    return this.#running;
  }

  /** The APIs of the model; null while there is none. */
  get server(): Server | null {
    return this.#running?.server ?? null;
  }

  /** True from the beginning of a load to its end. */
  get isLoading(): boolean {
    return this.#isLoading;
  }

  /**
   * Loads a model in the place of the one that runs. What can fail early, a download and reading the headers, does so while
   * the old model still answers; when loading fails later, the old one comes back.
   *
   * @throws LoadInProgressError; what the loader, the device and the model throw; the signal's reason when aborted
   */
  async load(
    request: LoadRequest,
    onProgress: (progress: LoadProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#isLoading) throw new LoadInProgressError();
    this.#isLoading = true;
    try {
      const folder = await this.#fetch(request.model, onProgress, signal);
      onProgress({ stage: 'open', ...NO_BYTES });
      await openCheckpoint(folder, { signal });
      const previous = this.#request;
      onProgress({ stage: 'unload', ...NO_BYTES });
      await this.#unload();
      try {
        await this.#start({ ...request, model: folder }, onProgress, signal, nameOf(request.model));
      } catch (error) {
        if (previous) await this.#start(previous, () => {}, new AbortController().signal);
        throw error;
      }
    } finally {
      this.#isLoading = false;
    }
  }

  /** Lets running answers end, and frees everything. */
  async close(): Promise<void> {
    await this.#unload();
  }

  async #fetch(
    model: string,
    onProgress: (progress: LoadProgress) => void,
    signal: AbortSignal,
  ): Promise<string> {
    onProgress({ stage: 'open', ...NO_BYTES });
    return resolveCheckpoint(model, {
      signal,
      onProgress: ({ doneBytes, totalBytes, file }) =>
        onProgress({ stage: 'download', doneBytes, totalBytes, file: file ?? null }),
    });
  }

  async #start(
    request: LoadRequest,
    onProgress: (progress: LoadProgress) => void,
    signal: AbortSignal,
    name?: string,
  ): Promise<void> {
    this.#running = await startModel(request, { ...this.#options, name, signal, onProgress });
    this.#request = request;
  }

  async #unload(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    this.#request = null;
    await running?.stop();
  }
}

const NO_BYTES = { doneBytes: 0, totalBytes: 0, file: null };

/** A repository keeps its name, though its folder in the cache is called after a commit. */
function nameOf(model: string): string | undefined {
  return isRepositoryName(model) ? model.split('/').at(-1) : undefined;
}
