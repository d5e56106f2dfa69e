import { DisposedError, InvalidArgumentError } from '@markbase/core';
import type { Device, Program, RecordOptions, StepInput } from '@markbase/metal-runtime';
import { joinSamples } from '../math/join-samples.js';
import type { ClipRows } from './clip-rows.js';
import { type Encoder, FEATURES_INPUT, MASK_INPUT, recordEncoder, SOFT_TOKENS_OUTPUT } from './encoder.js';

/** Options of an `EncoderQueue`. */
export interface EncoderQueueOptions extends Pick<RecordOptions, 'precision' | 'fusions' | 'checkFinite'> {
  /** Maximum number of rows of a step. */
  readonly maxRows: number;
}

interface Job {
  readonly clip: ClipRows;
  readonly output: string;
  readonly signal: AbortSignal | undefined;
  resolve(values: Float32Array): void;
  reject(error: unknown): void;
}

/**
 * Runs clips through an encoder. Clips that are waiting at the same time share a step, as far as its rows go: one pass over
 * the weights serves all of them. A row's result does not depend on the other clips.
 */
export class EncoderQueue {
  readonly #maxRows: number;
  #program: Program | null;
  readonly #waiting: Job[] = [];
  #isRunning = false;

  constructor(device: Device, encoder: Encoder, options: EncoderQueueOptions) {
    this.#maxRows = options.maxRows;
    const recording = { ...options, label: 'audio encoder', maxOutputs: 0 };
    this.#program = device.record(recording, (ops) => recordEncoder(ops, encoder));
  }

  /** The recorded program. */
  get program(): Program {
    if (!this.#program) throw new DisposedError({ resource: 'audio encoder', operation: 'encode' });
    return this.#program;
  }

  /**
   * The rows [rows, width] of an output for one clip.
   *
   * @throws InvalidArgumentError when the clip has more rows than a step; DisposedError; the signal's reason
   */
  run(
    clip: ClipRows,
    options: { output?: string; signal?: AbortSignal | undefined } = {},
  ): Promise<Float32Array> {
    const { output = SOFT_TOKENS_OUTPUT, signal } = options;
    if (clip.rows > this.#maxRows) {
      throw new InvalidArgumentError({
        argument: 'clip',
        expected: `at most ${this.#maxRows} rows`,
        received: clip.rows,
        hint: 'Split the audio',
      });
    }
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ clip, output, signal, resolve, reject });
      // Clips of the same turn of the event loop share a step.
      queueMicrotask(() => void this.#work());
    });
  }

  dispose(): void {
    this.#program?.dispose();
    this.#program = null;
  }

  async #work(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      for (let jobs = this.#take(); jobs.length > 0; jobs = this.#take()) await this.#runJobs(jobs);
    } finally {
      this.#isRunning = false;
    }
  }

  /** The next clips that fit into one step; aborted ones fail. */
  #take(): Job[] {
    const jobs: Job[] = [];
    let rows = 0;
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (!next.signal?.aborted) {
        if (rows + next.clip.rows > this.#maxRows) break;
        rows += next.clip.rows;
        jobs.push(next);
      } else next.reject(next.signal.reason);
      this.#waiting.shift();
    }
    return jobs;
  }

  async #runJobs(jobs: readonly Job[]): Promise<void> {
    // A step stops early when every caller that waits for it has aborted.
    const givenUp = new AbortController();
    // Clips of one caller share a signal, which keeps a listener only once, so signals are checked instead of counted.
    const giveUp = (): void => {
      if (jobs.every(({ signal }) => signal?.aborted)) givenUp.abort();
    };
    for (const { signal } of jobs) signal?.addEventListener('abort', giveUp);
    try {
      const read = [...new Set(jobs.map((job) => job.output))];
      const { outputs } = await this.program.run(stepOf(jobs), { read, signal: givenUp.signal });
      this.#settle(jobs, outputs);
    } catch (error) {
      for (const job of jobs) job.reject(job.signal?.aborted ? job.signal.reason : error);
    } finally {
      for (const { signal } of jobs) signal?.removeEventListener('abort', giveUp);
    }
  }

  #settle(jobs: readonly Job[], outputs: Readonly<Record<string, Float32Array>>): void {
    const rows = jobs.reduce((sum, job) => sum + job.clip.rows, 0);
    let first = 0;
    for (const { clip, output, signal, resolve, reject } of jobs) {
      const values = outputs[output]!;
      const width = values.length / rows;
      if (signal?.aborted) reject(signal.reason);
      else resolve(values.slice(first * width, (first + clip.rows) * width));
      first += clip.rows;
    }
  }
}

/** Lays out clips one after another, each in its own slot, with positions within it. */
function stepOf(jobs: readonly Job[]): StepInput {
  const clips = jobs.map((job) => job.clip);
  const perRow = (value: (clip: number, row: number) => number): Int32Array =>
    Int32Array.from(
      clips.flatMap(({ rows }, clip) => Array.from({ length: rows }, (_, row) => value(clip, row))),
    );
  const inputs: Record<string, Float32Array> = {
    [FEATURES_INPUT]: joinSamples(clips.map((clip) => clip.features)),
  };
  const masks = clips.flatMap(({ mask }) => (mask ? [mask] : []));
  if (masks.length > 0) inputs[MASK_INPUT] = joinSamples(masks);
  return { positions: perRow((_, row) => row), slots: perRow((clip) => clip), inputs };
}
