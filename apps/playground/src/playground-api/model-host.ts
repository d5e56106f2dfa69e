import { MarkBaseError } from '@markbase/core';
import { isRepositoryName, openCheckpoint, resolveCheckpoint } from '@markbase/loader';
import type { Server } from '@markbase/server';
import type { HostOptions } from './host-options.js';
import type { LoadProgress, LoadRequest } from './playground-types.js';
import { type RunningModel, startModel } from './running-model.js';

/** Another model is already being loaded. */
class LoadInProgressError extends MarkBaseError {
  readonly code = 'LOAD_IN_PROGRESS';

  constructor() {
    super('Another model is already being loaded: wait for it, or cancel it where it was started');
  }
}

/** Holds the one model that a playground runs, and replaces it with another. */
export class ModelHost {
  readonly #options: HostOptions;
  #running: RunningModel | null = null;
  #request: LoadRequest | null = null;
  #isLoading = false;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** The model that answers; null if there is none. */
  get running(): RunningModel | null {
    return this.#running;
  }

  /** The APIs of the model; null if there is none. */
  get server(): Server | null {
    return this.#running?.server ?? null;
  }

  /** True from the start of a load to its end. */
  get isLoading(): boolean {
    return this.#isLoading;
  }

  /**
   * Replaces the running model. Downloading and reading the headers happen while the old model still answers, so that
   * most failures do not affect it; if loading fails later, the old model is loaded again.
   *
   * @throws LoadInProgressError; errors of the loader, the device and the model; the signal's reason when aborted
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

  /** Frees the model; there is none then. @throws LoadInProgressError */
  async unload(): Promise<void> {
    if (this.#isLoading) throw new LoadInProgressError();
    await this.#unload();
  }

  /** Lets running answers finish, and frees everything. */
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

/** Keeps the name of a repository, whose folder in the cache is named after a commit. */
function nameOf(model: string): string | undefined {
  return isRepositoryName(model) ? model.split('/').at(-1) : undefined;
}
