import type { Device } from './device.js';

/** How much of what a load asked for is in the device's memory. */
export interface UploadProgress {
  readonly arrivedBytes: number;
  readonly totalBytes: number;
}

/** Options that models which are loaded have in common. */
export interface UploadProgressOptions {
  /**
   * Told how far weights are on their way into the memory of a GPU: once at the end of the load, then at most ten times a second
   * while steps may already wait for them, and last when all have arrived. Never called where weights are read in place, nor
   * after an abort, a failure or `dispose`. What it throws fails the load, and later is an uncaught exception, as from any timer.
   */
  readonly onProgress?: (progress: UploadProgress) => void;
  readonly signal?: AbortSignal;
}

const INTERVAL_MS = 100;

/**
 * Reports what a load makes a device copy. Ranges arrive in the order in which they were asked for, so what others asked for
 * before counts, and what they ask for later does not.
 */
export class UploadWatch {
  readonly #device: Device;
  readonly #onProgress: UploadProgressOptions['onProgress'];
  readonly #signal: AbortSignal | undefined;
  /** Of the device's arrived bytes: where the load began, and where it is complete. */
  readonly #beginBytes: number = 0;
  #endBytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** To be made before anything is mapped. */
  constructor(device: Device, { onProgress, signal }: UploadProgressOptions) {
    this.#device = device;
    this.#onProgress = onProgress;
    this.#signal = signal;
    if (onProgress) this.#beginBytes = device.uploads.arrivedBytes;
  }

  /** Reports, from now on by itself, until everything that was mapped so far has arrived. */
  start(): void {
    if (!this.#onProgress) return;
    this.#endBytes = this.#device.uploads.queuedBytes;
    if (this.#endBytes <= this.#beginBytes) return;
    // A process ends though weights are on their way.
    this.#timer = setInterval(() => this.#report(), INTERVAL_MS).unref();
    this.#report();
  }

  /** No more reports. */
  dispose(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #report(): void {
    const { queuedBytes, arrivedBytes } = this.#device.uploads;
    const isComplete = arrivedBytes >= this.#endBytes;
    // With nothing on its way, what is missing could not be read: the steps that wait for it say why.
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
