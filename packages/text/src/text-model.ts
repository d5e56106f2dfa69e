import { ContextLengthError, DisposedError, InvalidArgumentError } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import {
  checkSampling,
  type Device,
  type Program,
  type ProgramPlan,
  type StepInput,
  type StepResult,
} from '@markbase/metal-runtime';
import { checkInteger } from './check.js';
import type { Choice } from './engine/choice.js';
import { DecodeQueue, type DecodeRow, type StepOptions } from './engine/decode-queue.js';
import { nextParts, type PrefillJob, prefillStep } from './engine/prefill-step.js';
import { Programs } from './engine/programs.js';
import { type Prompt, type PromptRows, promptRows } from './engine/prompt.js';
import type { Sequence } from './engine/sequence.js';
import { SequencePool } from './engine/sequence-pool.js';
import { StepLock } from './engine/step-lock.js';
import {
  checkedSettings,
  type TextModelOptions,
  type TextModelSettings,
} from './engine/text-model-options.js';
import { type Language, loadLanguage } from './language.js';
import { allocateCaches, type Caches } from './model/caches.js';
import { type DecoderConfig, decoderConfig } from './model/config.js';
import { LOGITS_OUTPUT } from './model/decoder.js';
import type { Decoder } from './model/layer.js';
import { uploadRopeFrequencies } from './model/rope-frequencies.js';
import { loadDecoder } from './model/weights.js';

/** Options of a prefill. */
export interface PrefillOptions extends StepOptions {
  /** Rows of a step; default and at most the model's `prefillChunk`. */
  readonly chunkTokens?: number;
  /** Called after every step with the rows computed so far and in all. */
  readonly onProgress?: (progress: { readonly doneTokens: number; readonly totalTokens: number }) => void;
}

/**
 * A Gemma 4 decoder on a device: token ids in, token ids out. Holds the weights, the caches of `maxSequences` sequences,
 * and the recorded programs. Steps of several callers take turns.
 */
export class TextModel {
  readonly checkpoint: Checkpoint;
  readonly device: Device;
  readonly config: DecoderConfig;
  readonly settings: TextModelSettings;
  /** Weights and caches, for code that records programs of its own. */
  readonly decoder: Decoder;
  readonly #pool: SequencePool;
  readonly #programs: Programs;
  readonly #lock = new StepLock();
  readonly #decodeQueue: DecodeQueue;
  readonly #release: () => void;
  #language: Promise<Language> | null;
  #isDisposed = false;

  private constructor(parts: {
    checkpoint: Checkpoint;
    device: Device;
    config: DecoderConfig;
    settings: TextModelSettings;
    decoder: Decoder;
    caches: Caches;
    language: Promise<Language> | null;
    release: () => void;
  }) {
    const { device, config, settings, decoder } = parts;
    this.checkpoint = parts.checkpoint;
    this.device = device;
    this.config = config;
    this.settings = settings;
    this.decoder = decoder;
    this.#language = parts.language;
    this.#release = parts.release;
    this.#pool = new SequencePool(settings.maxSequences, {
      contextTokens: settings.contextTokens,
      smallestCapacityTokens: parts.caches.smallestCapacityTokens,
      windowTokens: config.windowTokens,
    });
    this.#programs = new Programs({
      ...settings,
      device,
      decoder,
      suppressed: suppressedIds(config, this.checkpoint),
    });
    this.#decodeQueue = new DecodeQueue({
      lock: this.#lock,
      maxRows: settings.maxSequences,
      busySequences: () => this.#pool.busyCount,
      step: (rows, options) => this.#decodeStep(rows, options),
    });
  }

  /**
   * Maps the weights of a checkpoint and allocates caches; nothing runs yet.
   *
   * @throws UnsupportedModelError for drafters, and for mixtures of experts without `options.feedForward`
   * @throws WeightMapError when tensors are missing, wrong or superfluous
   * @throws InvalidArgumentError for options out of range
   */
  static async load(
    checkpoint: Checkpoint,
    device: Device,
    options: TextModelOptions = {},
  ): Promise<TextModel> {
    options.signal?.throwIfAborted();
    const config = decoderConfig(checkpoint);
    const settings = checkedSettings(config, options);
    const rope = uploadRopeFrequencies(device, config.layers);
    const caches = allocateCaches(device, config, {
      contextTokens: settings.contextTokens,
      slotCount: settings.maxSequences,
      maxStepTokens: settings.maxStepTokens,
      dtype: settings.precision === 'high' ? 'F32' : 'BF16',
    });
    const releaseBuffers = () => {
      caches.dispose();
      rope.dispose();
    };
    try {
      const { feedForward, language = null } = options;
      const loaded = await loadDecoder({ checkpoint, device, config, caches, rope, feedForward });
      options.signal?.throwIfAborted();
      const release = () => {
        loaded.dispose();
        releaseBuffers();
      };
      const { decoder } = loaded;
      return new TextModel({ checkpoint, device, config, settings, decoder, caches, language, release });
    } catch (error) {
      releaseBuffers();
      throw error;
    }
  }

  /**
   * The checkpoint's tokenizer and chat template, loaded when first asked for.
   *
   * @throws InvalidArgumentError when the checkpoint has no tokenizer.json
   */
  async language(): Promise<Language> {
    this.#check('language');
    this.#language ??= loadLanguage(this.checkpoint).catch((error) => {
      // A failure, such as a file that is not there yet, must not stick to the model.
      this.#language = null;
      throw error;
    });
    return this.#language;
  }

  /** What a decode step of `rows` sequences was lowered to: its commands, and the weight bytes that it reads. */
  plan(rows = 1): ProgramPlan {
    this.#check('plan');
    checkInteger('rows', rows, 1, this.settings.maxSequences);
    return this.#programs.decode(rows).plan;
  }

  /** Sequences that can be had without waiting. */
  get idleSequences(): number {
    return this.#pool.idleCount;
  }

  /**
   * Checks a prompt and lays it out by position.
   *
   * @param begin position of its first token
   * @throws ContextLengthError when it does not leave room for one more token
   * @throws InvalidArgumentError for ids out of range, and for media that do not fit the placeholders
   */
  layOut(prompt: Prompt, begin = 0): PromptRows {
    this.#check('layOut');
    const rows = promptRows(this.config, prompt, this.settings, begin);
    if (rows.end >= this.settings.contextTokens) {
      throw new ContextLengthError({ promptTokens: rows.end, maxTokens: this.settings.contextTokens });
    }
    return rows;
  }

  /**
   * Takes sequences, waiting in line until as many are free.
   *
   * @param prompts one entry per sequence: a prompt whose computed prefix may be re-used, or null for an empty sequence
   */
  acquire(prompts: readonly (PromptRows | null)[], signal?: AbortSignal): Promise<Sequence[]> {
    this.#check('acquire');
    return this.#pool.acquire(prompts, signal);
  }

  /** Takes one empty sequence. */
  async createSequence(signal?: AbortSignal): Promise<Sequence> {
    const [sequence] = await this.acquire([null], signal);
    return sequence!;
  }

  /** Gives sequences back; what they hold may be re-used by a later prompt. */
  release(sequences: readonly Sequence[]): void {
    this.#pool.release(sequences);
  }

  /**
   * Computes prompts, several of them in one step where they fit. Gives the choice of the token after each prompt.
   * A step that fails or is aborted leaves the sequences at the end of the last step that succeeded.
   */
  async prefill(jobs: readonly PrefillJob[], options: PrefillOptions = {}): Promise<Choice[]> {
    this.#check('prefill');
    const { prefillChunk } = this.settings;
    const { chunkTokens = prefillChunk } = options;
    checkInteger('chunkTokens', chunkTokens, 1, prefillChunk);
    for (const job of jobs) checkJob(job);
    const remaining = () => jobs.reduce((sum, { rows, sequence }) => sum + rows.end - sequence.length, 0);
    const totalTokens = remaining();
    const choices = new Map<PrefillJob, Choice>();
    for (;;) {
      const parts = nextParts(jobs, chunkTokens);
      if (parts.length === 0) break;
      const step = prefillStep(parts, this.config.hiddenWidth);
      const program = this.#programs.prefill(step.tokens.length, step.softIndex !== undefined);
      const spans = parts.map(({ job, begin, end }) => ({ ...job, begin, end }));
      const result = await this.#lock.run(() => this.#run(program, step, spans, options));
      const ended = parts.filter(({ job, end }) => end === job.rows.end);
      for (const [index, { job }] of ended.entries()) choices.set(job, this.#choice(result, index));
      options.onProgress?.({ doneTokens: totalTokens - remaining(), totalTokens });
    }
    return jobs.map((job) => choices.get(job)!);
  }

  /**
   * Adds one token to each of several sequences, and chooses the next one of each. Rows of other callers that wait at the
   * same time run in the same step.
   *
   * @throws ContextLengthError when a sequence is full; InvalidArgumentError for tokens and parameters out of range, and for
   *   a sequence that has two rows
   */
  async decode(rows: readonly DecodeRow[], options: StepOptions = {}): Promise<Choice[]> {
    this.#check('decode');
    const { contextTokens, maxSequences } = this.settings;
    checkInteger('rows.length', rows.length, 1, maxSequences);
    // Checked here, before the rows of other callers join: theirs must not fail for these.
    if (new Set(rows.map(({ sequence }) => sequence)).size < rows.length) {
      throw new InvalidArgumentError({
        argument: 'rows',
        expected: 'one row of each sequence',
        received: 'two of the same',
      });
    }
    for (const { sequence, token, sampling } of rows) {
      checkInteger('token', token, 0, this.config.vocabularySize - 1);
      if (sampling) checkSampling(sampling);
      if (sequence.length < contextTokens) continue;
      throw new ContextLengthError({ promptTokens: sequence.length + 1, maxTokens: contextTokens });
    }
    return this.#decodeQueue.decode(rows, options);
  }

  /**
   * Runs all rows of a prompt, every one an output, and reads what `names` say: `hidden.i` or `logits`. For
   * verification; the caches are filled as in a prefill.
   */
  async observe(
    { sequence, rows }: PrefillJob,
    names: readonly string[],
    options: StepOptions = {},
  ): Promise<Readonly<Record<string, Float32Array>>> {
    const parts = nextParts([{ sequence, rows }], rows.end - sequence.length);
    const { tokens, softIndex, ...step } = prefillStep(parts, this.config.hiddenWidth);
    const program = this.#programs.observed(tokens.length, softIndex !== undefined);
    const outputRows = Int32Array.from(tokens, (_, index) => index);
    const everyRow = { ...step, tokens, softIndex, outputRows, sampling: undefined };
    const spans = [{ sequence, rows, begin: sequence.length, end: rows.end }];
    const result = await this.#lock.run(() => this.#run(program, everyRow, spans, options, names));
    return result.outputs;
  }

  /** Runs a step of a program that was recorded on this model's decoder, in turn with the model's own steps. */
  runStep(
    program: Program,
    step: StepInput,
    read: readonly string[],
    signal?: AbortSignal,
  ): Promise<StepResult> {
    return this.#lock.run(() => this.#runProgram(program, step, read, signal));
  }

  /** Frees programs, caches and mapped weights. The device stays open. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#programs.dispose();
    this.#release();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #decodeStep(rows: readonly DecodeRow[], options: StepOptions): Promise<Choice[]> {
    const positions = Int32Array.from(rows, ({ sequence }) => sequence.length);
    const step: StepInput = {
      tokens: Int32Array.from(rows, ({ token }) => token),
      positions,
      slots: Int32Array.from(rows, ({ sequence }) => sequence.slot),
      outputRows: Int32Array.from(rows, (_, index) => index),
      sampling: rows.map(({ sampling }) => sampling ?? {}),
    };
    const spans = rows.map(({ sequence, token }, index) => {
      const begin = positions[index]!;
      const row = { keys: [token], visibleEnd: Int32Array.of(begin), begin };
      return { sequence, rows: row, begin, end: begin + 1 };
    });
    const program = this.#programs.decode(rows.length);
    return this.#run(program, step, spans, options).then((result) =>
      rows.map((_, index) => this.#choice(result, index)),
    );
  }

  async #run(
    program: Program,
    step: StepInput,
    spans: readonly {
      sequence: Sequence;
      rows: Pick<PromptRows, 'keys' | 'visibleEnd' | 'begin'>;
      begin: number;
      end: number;
    }[],
    { signal, withLogits }: StepOptions,
    read: readonly string[] = withLogits ? [LOGITS_OUTPUT] : [],
  ): Promise<StepResult> {
    for (const { sequence, end } of spans) sequence.markWritten(end);
    const result = await this.#runProgram(program, step, read, signal);
    for (const { sequence, rows, begin, end } of spans) {
      for (let position = begin; position < end; position++) {
        sequence.push(rows.keys[position - rows.begin]!, rows.visibleEnd[position - rows.begin]!);
      }
    }
    return result;
  }

  #runProgram(
    program: Program,
    step: StepInput,
    read: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<StepResult> {
    this.#check('step');
    signal?.throwIfAborted();
    return program.run(step, { read, ...(signal && { signal }) });
  }

  #choice(result: StepResult, index: number): Choice {
    const { vocabularySize } = this.config;
    const logits = result.outputs[LOGITS_OUTPUT]?.subarray(
      index * vocabularySize,
      (index + 1) * vocabularySize,
    );
    return {
      token: result.tokens[index]!,
      logprob: result.logprobs[index]!,
      topLogprobs: result.topLogprobs[index] ?? [],
      ...(logits && { logits }),
    };
  }

  #check(operation: string): void {
    if (this.#isDisposed) throw new DisposedError({ resource: 'text model', operation });
  }
}

function checkJob({ rows, sequence }: PrefillJob): void {
  if (rows.begin <= sequence.length && sequence.length < rows.end) return;
  throw new InvalidArgumentError({
    argument: 'rows',
    expected: `a prompt that begins at or before position ${sequence.length} of its sequence and ends after it`,
    received: `positions ${rows.begin} to ${rows.end - 1}`,
  });
}

/** Placeholders and their delimiters have trained rows in the tied head, but are no text (spec 8.6). */
function suppressedIds({ placeholders }: DecoderConfig, { generation }: Checkpoint): number[] {
  const { image, video, audio, delimiters } = placeholders;
  const ids = [image, video, audio, ...delimiters, ...generation.suppressTokenIds];
  return [...new Set(ids.filter((id) => id !== null))].sort((a, b) => a - b);
}
