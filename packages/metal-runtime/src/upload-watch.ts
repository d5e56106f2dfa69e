import type { Device } from './device.js';

/** How much of a load has arrived in the device's memory. */
export interface UploadProgress {
  /** Bytes of weights that have arrived on the device. */
  readonly arrivedBytes: number;
  /** Bytes of weights to copy. */
  readonly totalBytes: number;
}

/** Options that all models share. */
export interface UploadProgressOptions {
  /**
   * Called with the progress of copying weights to a GPU: once at the end of the load, then at most ten times a second
   * while steps may already be waiting for weights, and finally when all have arrived. Never called if weights are read
   * in place, nor after an abort, a failure or `dispose`. If it throws, the load fails; later, the error is uncaught,
   * as from any timer.
   */
  readonly onProgress?: (progress: UploadProgress) => void;
  /** Aborts the load, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

const INTERVAL_MS = 100;

/**
 * Reports the progress of the copies caused by a load. Ranges arrive in the order in which they were requested, so
 * earlier requests of others count and later ones do not.
 */
export class UploadWatch {
  readonly #device: Device;
  readonly #onProgress: UploadProgressOptions['onProgress'];
  readonly #signal: AbortSignal | undefined;
  /** Positions in the device's arrived bytes: where the load starts, and where it is complete. */
  readonly #beginBytes: number = 0;
  #endBytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** Create it before mapping anything. */
  constructor(device: Device, { onProgress, signal }: UploadProgressOptions) {
    this.#device = device;
    this.#onProgress = onProgress;
    this.#signal = signal;
    if (onProgress) this.#beginBytes = device.uploads.arrivedBytes;
  }

  /** Starts reporting, until everything that was mapped so far has arrived. */
  start(): void {
    if (!this.#onProgress) return;
    this.#endBytes = this.#device.uploads.queuedBytes;
    if (this.#endBytes <= this.#beginBytes) return;
    // Must not keep the process alive while weights are being copied.
    this.#timer = setInterval(() => this.#report(), INTERVAL_MS).unref();
    this.#report();
  }

  /** Stops reporting. */
  dispose(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #report(): void {
    const { queuedBytes, arrivedBytes } = this.#device.uploads;
    const isComplete = arrivedBytes >= this.#endBytes;
    // If nothing is being copied, the missing part could not be read; steps that wait for it report why.
    const hasFailed = !isComplete && arrivedBytes === queuedBytes;
    if (isComplete || hasFailed || this.#signal?.aborted) this.dispose();
    if (hasFailed || this.#signal?.aborted) return;
    try {
      this.#onProgress!({
        arrivedBytes: Math.min(arrivedBytes, this.#endBytes) - this.#beginBytes,
        totalBytes: this.#endBytes - this.#beginBytes,
      });
    } catch (error) {
      this.dispose();
      throw error;
    }
  }
}
