import { ContextLengthError, DisposedError, InvalidArgumentError } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import {
  BLOCK_TOKENS,
  checkSampling,
  type Device,
  type PlannedDispatch,
  type Program,
  type ProgramPlan,
  type StepInput,
  type StepResult,
  UploadWatch,
} from '@markbase/metal-runtime';
import { checkInteger } from './check.js';
import { adaptedRows } from './engine/adapter-rows.js';
import { type Choice, choiceOf } from './engine/choice.js';
import { DecodeQueue, type DecodeRow, type StepOptions } from './engine/decode-queue.js';
import { decodeStep, type StepSpan } from './engine/decode-step.js';
import { type ModelActivity, StepCounts } from './engine/model-activity.js';
import { type PrefillOptions, PrefillQueue } from './engine/prefill-queue.js';
import {
  beginJob,
  nextParts,
  type PrefillJob,
  type PrefillPart,
  prefillStep,
} from './engine/prefill-step.js';
import { COPY_SOURCE_INPUTS, Programs } from './engine/programs.js';
import { type Prompt, type PromptRows, promptRows } from './engine/prompt.js';
import type { Sequence } from './engine/sequence.js';
import { SequencePool } from './engine/sequence-pool.js';
import { StepLock } from './engine/step-lock.js';
import { suppressedIds } from './engine/suppressed-ids.js';
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

/** Computing a shorter prefix is as fast as copying it. */
const SMALLEST_COPY_TOKENS = 16;

/**
 * A Gemma 4 decoder on a device: token ids in, token ids out. Holds the weights, the caches of `maxSequences`
 * sequences, and the recorded programs. Concurrent callers share its steps.
 */
export class TextModel {
  /** The checkpoint that the weights come from. */
  readonly checkpoint: Checkpoint;
  /** The device that the model runs on. */
  readonly device: Device;
  /** Sizes of the decoder. */
  readonly config: DecoderConfig;
  /** The options of `load`, with defaults filled in. */
  readonly settings: TextModelSettings;
  /** Weights and caches, for code that records its own programs. */
  readonly decoder: Decoder;
  /** Size of one sequence's caches in bytes once all of its positions are written. */
  readonly sequenceBytes: number;
  readonly #pool: SequencePool;
  readonly #programs: Programs;
  readonly #lock = new StepLock();
  readonly #counts = new StepCounts();
  readonly #decodeQueue: DecodeQueue;
  readonly #prefillQueue: PrefillQueue;
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
    this.sequenceBytes = parts.caches.slotBytes;
    const { smallestCapacityTokens } = parts.caches;
    const { contextTokens, maxSequences, rememberedSequences } = settings;
    const limits = { contextTokens, smallestCapacityTokens, windowTokens: config.windowTokens };
    this.#pool = new SequencePool(maxSequences, limits, rememberedSequences);
    const suppressed = suppressedIds(config, parts.checkpoint, settings.suppressPlaceholders);
    this.#programs = new Programs({ ...settings, device, decoder, suppressed });
    this.#prefillQueue = new PrefillQueue({
      lock: this.#lock,
      chunkTokens: settings.prefillChunk,
      step: (parts, options) => this.#prefillStep(parts, options),
    });
    this.#decodeQueue = new DecodeQueue({
      lock: this.#lock,
      maxRows: settings.maxSequences,
      busySequences: () => this.#pool.busyCount,
      step: (rows, options) => this.#decodeStep(rows, options),
    });
  }

  /**
   * Maps the weights of a checkpoint and allocates caches; nothing is computed yet.
   *
   * @throws UnsupportedModelError for drafters, and for mixtures of experts without `options.feedForward`
   * @throws WeightMapError for missing, invalid or unused tensors
   * @throws InvalidArgumentError for options out of range
   */
  static async load(
    checkpoint: Checkpoint,
    device: Device,
    options: TextModelOptions = {},
  ): Promise<TextModel> {
    options.signal?.throwIfAborted();
    const config = decoderConfig(checkpoint);
    const settings = checkedSettings(config, options, device.info);
    const rope = uploadRopeFrequencies(device, config.layers);
    const caches = allocateCaches(device, config, {
      contextTokens: settings.contextTokens,
      slotCount: settings.maxSequences + settings.rememberedSequences,
      maxStepTokens: settings.maxStepTokens,
      dtype: settings.precision === 'high' ? 'F32' : 'BF16',
    });
    const uploads = new UploadWatch(device, options);
    const resources: { dispose(): void }[] = [rope, caches, uploads];
    const release = () => {
      for (const resource of resources.splice(0).reverse()) resource.dispose();
    };
    try {
      const { feedForward, adapters, language = null } = options;
      const loaded = await loadDecoder({ checkpoint, device, config, caches, rope, feedForward, adapters });
      resources.push(loaded);
      uploads.start();
      options.signal?.throwIfAborted();
      const { decoder } = loaded;
      return new TextModel({ checkpoint, device, config, settings, decoder, caches, language, release });
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * The checkpoint's tokenizer and chat template, loaded on first use.
   *
   * @throws InvalidArgumentError if the checkpoint has no tokenizer.json
   */
  async language(): Promise<Language> {
    this.#check('language');
    this.#language ??= loadLanguage(this.checkpoint).catch((error) => {
      // Do not keep a failure: a missing file may appear later.
      this.#language = null;
      throw error;
    });
    return this.#language;
  }

  /**
   * What a step was lowered to: its commands, the weight bytes that it reads, and its launches on a GPU when its last
   * position is `positions` - 1.
   *
   * @param rows number of sequences in a decode step, or of tokens in a prefill step that ends one prompt
   */
  plan(
    rows = 1,
    positions = 1,
    step: 'decode' | 'prefill' = 'decode',
  ): ProgramPlan & { readonly dispatches: readonly PlannedDispatch[] } {
    this.#check('plan');
    const isDecode = step === 'decode';
    checkInteger('rows', rows, 1, isDecode ? this.settings.maxSequences : this.settings.prefillChunk);
    checkInteger('positions', positions, 1, this.settings.contextTokens);
    const program = isDecode ? this.#programs.decode(rows) : this.#programs.prefill(rows, false);
    const outputs = isDecode ? rows : 1;
    return { ...program.plan, dispatches: program.planStep({ rows, outputs, positions }) };
  }

  /** Number of sequences available without waiting. */
  get idleSequences(): number {
    return this.#pool.idleCount;
  }

  /** Counts of what was computed and what the caches hold; for displays and metrics. */
  get activity(): ModelActivity {
    return this.#counts.with(this.#pool);
  }

  /**
   * Checks a prompt and lays it out by position.
   *
   * @param begin position of its first token
   * @throws ContextLengthError if it leaves no room for another token
   * @throws InvalidArgumentError for ids out of range, and if media and placeholders do not match
   */
  layOut(prompt: Prompt, begin = 0): PromptRows {
    this.#check('layOut');
    const rows = adaptedRows(promptRows(this.config, prompt, this.settings, begin), prompt, this.decoder);
    if (rows.end >= this.settings.contextTokens) {
      throw new ContextLengthError({ promptTokens: rows.end, maxTokens: this.settings.contextTokens });
    }
    return rows;
  }

  /**
   * Takes sequences; waits in line until enough are free.
   *
   * @param prompts one entry per sequence: a prompt whose computed prefix may be reused, from this sequence or copied
   *   from another one, or null for an empty sequence
   */
  async acquire(prompts: readonly (PromptRows | null)[], signal?: AbortSignal): Promise<Sequence[]> {
    this.#check('acquire');
    const sequences = await this.#pool.acquire(prompts, signal);
    try {
      for (const [index, prompt] of prompts.entries()) {
        if (prompt) await this.#share(prompt, sequences[index]!, signal);
      }
      return sequences;
    } catch (error) {
      this.#pool.release(sequences);
      throw error;
    }
  }

  /** Takes one empty sequence. */
  async createSequence(signal?: AbortSignal): Promise<Sequence> {
    return (await this.acquire([null], signal))[0]!;
  }

  /** Releases sequences; later prompts may reuse their contents. */
  release(sequences: readonly Sequence[]): void {
    this.#pool.release(sequences);
  }

  /**
   * Computes prompts, several of them in one step if they fit, also together with those of other callers. Returns the
   * choice of the token after each prompt. If a step fails or is aborted, the sequences stay at the end of the last
   * successful step.
   */
  async prefill(jobs: readonly PrefillJob[], options: PrefillOptions = {}): Promise<Choice[]> {
    this.#check('prefill');
    const { prefillChunk } = this.settings;
    const { chunkTokens = prefillChunk } = options;
    checkInteger('chunkTokens', chunkTokens, 1, prefillChunk);
    for (const job of jobs) beginJob(job);
    return jobs.length === 0 ? [] : this.#prefillQueue.prefill(jobs, options);
  }

  /**
   * Adds one token to each of several sequences and samples the next one of each. Rows of other callers that are
   * waiting at the same time run in the same step.
   *
   * @throws ContextLengthError if a sequence is full; InvalidArgumentError for tokens and parameters out of range, and
   *   for two rows of the same sequence
   */
  async decode(rows: readonly DecodeRow[], options: StepOptions = {}): Promise<Choice[]> {
    this.#check('decode');
    const { contextTokens, maxSequences } = this.settings;
    checkInteger('rows.length', rows.length, 1, maxSequences);
    // Checked before the rows join those of other callers, which must not fail because of these.
    if (new Set(rows.map(({ sequence }) => sequence)).size < rows.length) {
      throw new InvalidArgumentError({
        argument: 'rows',
        expected: 'one row per sequence',
        received: 'two rows of the same sequence',
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
   * Runs all rows of a prompt with every row as an output, and reads the outputs in `names`: `hidden.i` or `logits`.
   * For verification; the caches are filled as in a prefill.
   */
  async observe(
    { sequence, rows }: PrefillJob,
    names: readonly string[],
    options: StepOptions = {},
  ): Promise<Readonly<Record<string, Float32Array>>> {
    const parts = nextParts([{ sequence, rows }], rows.end - sequence.length);
    const { tokens, softIndex, ...step } = prefillStep(parts, this.config.hiddenWidth, this.decoder);
    const program = this.#programs.observed(tokens.length, softIndex !== undefined);
    const outputRows = Int32Array.from(tokens, (_, index) => index);
    const everyRow = { ...step, tokens, softIndex, outputRows, sampling: undefined };
    const spans = [{ sequence, rows, begin: sequence.length, end: rows.end }];
    const result = await this.#lock.run(() => this.#run(program, everyRow, spans, options, names));
    return result.outputs;
  }

  /** Runs a step of a program recorded on this model's decoder, in turn with the model's own steps. */
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

  async #prefillStep(parts: readonly PrefillPart[], options: StepOptions): Promise<Choice[]> {
    const step = prefillStep(parts, this.config.hiddenWidth, this.decoder);
    const program = this.#programs.prefill(step.tokens.length, step.softIndex !== undefined);
    const spans = parts.map(({ job, begin, end }) => ({ ...job, begin, end }));
    const result = await this.#run(program, step, spans, options);
    this.#counts.prefillTokens += step.tokens.length;
    return Array.from(step.outputRows, (_, index) => choiceOf(result, index, this.config.vocabularySize));
  }

  #decodeStep(rows: readonly DecodeRow[], options: StepOptions): Promise<Choice[]> {
    const { step, spans } = decodeStep(rows, this.settings.precision === 'high', this.decoder);
    const program = this.#programs.decode(rows.length);
    return this.#run(program, step, spans, options).then((result) => {
      this.#counts.addDecode(rows.length);
      return rows.map((_, index) => choiceOf(result, index, this.config.vocabularySize));
    });
  }

  /** Copies the prefix of a prompt from the sequence that holds most of it, if that saves computation. */
  async #share(prompt: PromptRows, sequence: Sequence, signal: AbortSignal | undefined): Promise<void> {
    const isWorthIt = (length: number) => length - sequence.length >= SMALLEST_COPY_TOKENS;
    if (!isWorthIt(this.#pool.longestPrefix(prompt, sequence)?.length ?? 0)) return;
    await this.#lock.run(async () => {
      // While this call waited for its turn, the other sequence may have been overwritten.
      const found = this.#pool.longestPrefix(prompt, sequence);
      if (!found || !isWorthIt(found.length)) return;
      const { source, length } = found;
      sequence.truncate(0);
      for (let begin = 0; begin < length; begin += this.settings.prefillChunk) {
        const rows = Math.min(this.settings.prefillChunk, length - begin);
        const positions = Int32Array.from({ length: rows }, (_, row) => begin + row);
        const slots = new Int32Array(rows).fill(sequence.slot);
        const inputs = this.#copySources(source.slot, positions);
        await this.#runProgram(this.#programs.copy(), { positions, slots, inputs }, [], signal);
      }
      sequence.adopt(source, length);
    });
  }

  /** Blocks of a slot that hold `positions`, as inputs of `Programs.copy`. */
  #copySources(slot: number, positions: Int32Array): Record<string, Float32Array> {
    const sources = COPY_SOURCE_INPUTS.map((name, kind) => {
      const cache = this.decoder.layers.find(
        ({ attention }) => (attention.cache.windowTokens === null) === (kind === 0),
      )?.attention.cache;
      const share = cache ? Math.ceil(cache.capacityTokens / BLOCK_TOKENS) : 1;
      const blocks = Float32Array.from(positions, (position) => {
        return slot * share + (Math.floor(position / BLOCK_TOKENS) % share);
      });
      return [name, blocks];
    });
    return Object.fromEntries(sources);
  }

  async #run(
    program: Program,
    step: StepInput,
    spans: readonly StepSpan[],
    { signal, withLogits }: StepOptions,
    read: readonly string[] = withLogits ? [LOGITS_OUTPUT] : [],
  ): Promise<StepResult> {
    for (const { sequence, end } of spans) sequence.markWritten(end);
    const result = await this.#runProgram(program, step, read, signal);
    for (const { sequence, rows, begin, end, matchesPrefill } of spans) {
      for (let position = begin; position < end; position++) {
        const at = position - rows.begin;
        sequence.push(rows.keys[at]!, rows.visibleEnd[at]!, matchesPrefill);
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

  #check(operation: string): void {
    if (this.#isDisposed) throw new DisposedError({ resource: 'text model', operation });
  }
}
