import { setImmediate } from 'node:timers/promises';
import type { SoftTokenCache } from '@markbase/metal-runtime';
import type { Picture } from './picture.js';

/** What a queue needs of its model. */
export interface EncodeQueueHost {
  /** Maximum number of patches in a step of several pictures; a larger picture runs alone. */
  readonly maxPatches: number;
  readonly cache: SoftTokenCache;
  /** Runs one step: the soft tokens of each picture. */
  run(pictures: readonly Picture[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}

interface Request {
  readonly key: string;
  readonly picture: Picture;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (values: Float32Array) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Combines pictures of independent callers into steps: those waiting when the device becomes free run together, and equal
 * pictures run once. A caller that aborts leaves immediately; its step stops if no other caller waits for it.
 */
export class EncodeQueue {
  readonly #host: EncodeQueueHost;
  #waiting: Request[] = [];
  #isRunning = false;

  constructor(host: EncodeQueueHost) {
    this.#host = host;
  }

  /**
   * Soft tokens of a picture, from the cache or the next step that has room.
   *
   * @param key identifies the content: equal keys mean equal pictures
   * @throws the signal's reason; what the step throws
   */
  encode(key: string, picture: Picture, signal?: AbortSignal): Promise<Float32Array> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { promise, ...settle } = deferred<Float32Array>();
    const request = { key, picture, signal, ...settle };
    const leave = () => this.#leave(request);
    signal?.addEventListener('abort', leave);
    this.#waiting.push(request);
    if (!this.#isRunning) void this.#run();
    return promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  /** Rejects everything that is waiting. */
  rejectAll(reason: unknown): void {
    for (const request of this.#waiting.splice(0)) request.reject(reason);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#waiting.length > 0) {
        // Pictures that are ready within one iteration of the event loop share a step.
        await setImmediate();
        const batch = this.#take();
        if (batch.length > 0) await this.#step(batch);
      }
    } finally {
      this.#isRunning = false;
    }
  }

  #leave(request: Request): void {
    this.#waiting = this.#waiting.filter((other) => other !== request);
    request.reject(request.signal!.reason);
  }

  /** The requests of the next step: in order, as many as fit. Cached ones are answered at once. */
  #take(): Request[] {
    const batch: Request[] = [];
    const left: Request[] = [];
    const keys = new Set<string>();
    let room = this.#host.maxPatches;
    for (const request of this.#waiting) {
      const known = this.#host.cache.get(request.key);
      const { patchCount } = request.picture;
      if (known) request.resolve(known.values);
      else if (keys.has(request.key)) batch.push(request);
      else if (left.length === 0 && (patchCount <= room || batch.length === 0)) {
        batch.push(request);
        keys.add(request.key);
        room -= patchCount;
      } else left.push(request);
    }
    this.#waiting = left;
    return batch;
  }

  async #step(batch: readonly Request[]): Promise<void> {
    const first = new Map(batch.map((request) => [request.key, request.picture]));
    const controller = new AbortController();
    const stopWhenAlone = () => {
      if (batch.every(({ signal }) => signal?.aborted)) controller.abort();
    };
    for (const { signal } of batch) signal?.addEventListener('abort', stopWhenAlone);
    try {
      const values = await this.#host.run([...first.values()], controller.signal);
      const keys = [...first.keys()];
      for (const [index, contentKey] of keys.entries()) {
        const [rows, own] = [first.get(contentKey)!.softTokens, values[index]!];
        const kept = { kind: 'image', rows, width: own.length / rows, values: own, contentKey } as const;
        this.#host.cache.add(kept);
      }
      for (const request of batch) request.resolve(values[keys.indexOf(request.key)]!);
    } catch (error) {
      for (const request of batch) request.reject(error);
    } finally {
      for (const { signal } of batch) signal?.removeEventListener('abort', stopWhenAlone);
    }
  }
}

/** A promise and what settles it. */
function deferred<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<Value>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}
