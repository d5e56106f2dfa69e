// Long because it is the one entrance to the engine: every operation on a model, with its documentation.
import { ContextLengthError, DisposedError } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import {
  type Device,
  type PlannedDispatch,
  type Program,
  type ProgramPlan,
  type StepInput,
  type StepResult,
  UploadWatch,
} from '@markbase/metal-runtime';
import type { ChatMessage } from './chat/index.js';
import { checkInteger } from './check.js';
import { adaptedRows } from './engine/adapter-rows.js';
import { BlockStore } from './engine/block-store.js';
import type { Choice } from './engine/choice.js';
import { type Advance, DecodeQueue, type DecodeRow, type StepOptions } from './engine/decode-queue.js';
import { checkDecodeRows } from './engine/decode-step.js';
import type { ModelActivity } from './engine/model-activity.js';
import { type PrefillOptions, PrefillQueue } from './engine/prefill-queue.js';
import { beginJob, nextParts, type PrefillJob, prefillStep } from './engine/prefill-step.js';
import { Programs } from './engine/programs.js';
import { type Prompt, type PromptRows, promptRows } from './engine/prompt.js';
import type { Sequence } from './engine/sequence.js';
import { SequencePool } from './engine/sequence-pool.js';
import { StepLock } from './engine/step-lock.js';
import { StepRunner } from './engine/step-runner.js';
import { suppressedIds } from './engine/suppressed-ids.js';
import {
  checkedSettings,
  type TextModelOptions,
  type TextModelSettings,
} from './engine/text-model-options.js';
import { type Language, loadLanguage } from './language.js';
import { allocateCaches, type Caches, gpuCacheLimit } from './model/caches.js';
import { type DecoderConfig, decoderConfig } from './model/config.js';
import type { Decoder } from './model/layer.js';
import { uploadRopeFrequencies } from './model/rope-frequencies.js';
import { loadDecoder } from './model/weights.js';
import { ModelCaches } from './saved/model-caches.js';
import type { RestoredConversation, SavedConversation } from './saved/saved-caches.js';
import { type LoadedSpeculation, loadSpeculation } from './speculation/load-speculation.js';
import type { Speculation } from './speculation/speculation.js';

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
  /** Bytes of the caches that one sequence holds once all of its positions are written. */
  readonly sequenceBytes: number;
  /** Maximum size of all caches in bytes. The processor commits this memory when it is used, GPUs at once. */
  readonly cacheBytes: number;
  readonly #pool: SequencePool;
  readonly #programs: Programs;
  readonly #lock = new StepLock();
  readonly #store: BlockStore;
  readonly #runner: StepRunner;
  readonly #speculation: Speculation | null;
  readonly #blockBytes: readonly [number, number];
  readonly #decodeQueue: DecodeQueue;
  readonly #prefillQueue: PrefillQueue;
  readonly #saved: ModelCaches;
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
    suppressed: readonly number[];
    speculation: LoadedSpeculation;
    release: () => void;
  }) {
    const { device, config, settings, decoder, suppressed } = parts;
    const { speculation, hasAssistant } = parts.speculation;
    this.checkpoint = parts.checkpoint;
    this.device = device;
    this.config = config;
    this.settings = settings;
    this.decoder = decoder;
    this.#language = parts.language;
    this.#release = parts.release;
    const { fullBlocks, slidingBlocks, blockBytes, sequenceBytes } = parts.caches;
    this.sequenceBytes = sequenceBytes;
    this.#blockBytes = blockBytes;
    this.cacheBytes = fullBlocks * blockBytes[0] + slidingBlocks * blockBytes[1];
    this.#store = new BlockStore({ fullBlocks, slidingBlocks, windowTokens: config.windowTokens });
    this.#pool = new SequencePool(settings.maxSequences, this.#store);
    this.#programs = new Programs({ ...settings, device, decoder, suppressed, hasHidden: hasAssistant });
    this.#speculation = speculation;
    const runner = new StepRunner({
      ...{ config, settings, decoder, store: this.#store, pool: this.#pool, programs: this.#programs },
      speculation: this.#speculation,
      run: (program, step, read, signal) => this.#runProgram(program, step, read, signal),
    });
    this.#runner = runner;
    const { checkpoint } = parts;
    this.#saved = new ModelCaches({
      ...{ checkpoint, device, config, settings, decoder },
      ...{ store: this.#store, lock: this.#lock },
    });
    this.#prefillQueue = new PrefillQueue({
      lock: this.#lock,
      chunkTokens: () => runner.pace.rows,
      select: (jobs) => runner.select(jobs),
      step: (parts, options) => runner.prefill(parts, options),
    });
    this.#decodeQueue = new DecodeQueue({
      lock: this.#lock,
      maxRows: settings.maxSequences,
      busySequences: () => this.#pool.busyCount,
      hasRoomFor: (rows) => runner.hasRoomFor(rows),
      step: (rows, options) => runner.decode(rows, options),
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
      sequences: settings.maxSequences + settings.rememberedSequences,
      maxStepTokens: Math.max(settings.prefillChunk, settings.maxStepTokens),
      dtype: settings.precision === 'high' ? 'F32' : 'BF16',
      limitBytes: settings.cacheBytes ?? gpuCacheLimit(device, checkpoint.sizeBytes),
      isEstimate: settings.cacheBytes === null,
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
      const suppressed = suppressedIds(config, checkpoint, settings.suppressPlaceholders);
      const speculation = await loadSpeculation(options, { device, config, decoder, settings, suppressed });
      const parts = {
        checkpoint,
        device,
        config,
        settings,
        decoder,
        caches,
        language,
        suppressed,
        speculation,
      };
      return new TextModel({ ...parts, release });
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

  /** True if `acquire` would not wait for a sequence or for blocks. */
  isReadyFor(prompts: readonly (PromptRows | null)[]): boolean {
    return this.#pool.isReadyFor(prompts);
  }

  /** Number of sequences available without waiting. */
  get idleSequences(): number {
    return this.#pool.idleCount;
  }

  /** Counts of what was computed and what the caches hold; for displays and metrics. */
  get activity(): ModelActivity {
    return this.#runner.counts.with(this.#pool, this.#store, this.#blockBytes);
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
   * @param prompts one entry per sequence: a prompt that takes over what is known of it, whatever sequence computed it,
   *   or null for a sequence that is computed as a whole
   */
  async acquire(prompts: readonly (PromptRows | null)[], signal?: AbortSignal): Promise<Sequence[]> {
    this.#check('acquire');
    const sequences = await this.#pool.acquire(prompts, signal);
    try {
      for (const [index, prompt] of prompts.entries()) {
        const sequence = sequences[index]!;
        if (prompt && sequence.reuse) await this.#saved.load(prompt, sequence.reuse, signal);
        const copy = prompt && this.#runner.attach(sequence, prompt);
        if (copy) await this.#lock.run(() => this.#runner.finish(sequence, copy, signal));
      }
      return sequences;
    } catch (error) {
      this.#pool.release(sequences);
      throw error;
    }
  }

  /** Of several sequences, those that can go on by a token without setting others aside, or the one taken first. */
  fitting<Item extends { readonly sequence: Sequence }>(items: readonly Item[]): Item[] {
    return this.#runner.fitting(items);
  }

  /** Takes one empty sequence. */
  async createSequence(signal?: AbortSignal): Promise<Sequence> {
    return (await this.acquire([null], signal))[0]!;
  }

  /** Releases sequences; later prompts may take over what they hold. A released sequence is empty. */
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
   * waiting at the same time run in the same step. Nothing is guessed; see `advance`.
   *
   * @throws ContextLengthError if a sequence is full; InvalidArgumentError for tokens and parameters out of range, and
   *   for two rows of the same sequence
   */
  async decode(rows: readonly DecodeRow[], options: StepOptions = {}): Promise<Choice[]> {
    const plain = rows.map(({ answer: _, ...row }) => row);
    return (await this.advance(plain, options)).map(({ choices }) => choices[0]);
  }

  /**
   * Like `decode`; in rows with an `answer`, further tokens may be guessed, and the step verifies them. The choices are
   * those that steps without guesses would make, one after the other.
   *
   * @throws as `decode`
   */
  async advance(rows: readonly DecodeRow[], options: StepOptions = {}): Promise<Advance[]> {
    this.#check('advance');
    checkDecodeRows(rows, this.settings, this.config.vocabularySize);
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
    return this.#lock.run(async () => {
      await this.#runner.reserve(sequence, rows.end);
      return (await this.#runner.run(program, everyRow, spans, options, names)).outputs;
    });
  }

  /** Takes the blocks for a sequence's positions up to `end`, for `Sequence.table` in steps of programs of one's own. */
  reserve(sequence: Sequence, end: number): Promise<void> {
    return this.#lock.run(() => this.#runner.reserve(sequence, end));
  }

  /** Lets a sequence go on at position `end`, with whatever the caches hold before it: for measurements at any depth. */
  skipTo(sequence: Sequence, end: number): Promise<void> {
    return this.#lock.run(() => this.#runner.skipTo(sequence, end));
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

  /**
   * Writes a conversation to a file, with what the caches hold of it; see `Session.save`.
   *
   * @param rows the conversation as a prompt; null if it is empty
   */
  async save(
    file: string,
    messages: readonly ChatMessage[],
    rows: PromptRows | null,
  ): Promise<SavedConversation> {
    this.#check('save');
    return this.#saved.save(file, messages, rows);
  }

  /**
   * Reads a file of `Session.save` and brings what it holds into the caches, as far as there is room: the next turn of
   * `new Session(model, { messages })` does not read it again.
   *
   * @throws FileAccessError; CorruptFileError for a damaged file; InvalidArgumentError for one of another model,
   *   precision, adapter or version of the format
   */
  async restore(file: string, signal?: AbortSignal): Promise<RestoredConversation> {
    this.#check('restore');
    return this.#saved.restore(file, signal);
  }

  /** Waits until the prefixes that were released so far are in the files of `savedPrefixes`. */
  async finishSaving(): Promise<void> {
    await this.#saved.finish();
  }

  /** Frees programs, caches and mapped weights. The device stays open. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#speculation?.dispose();
    this.#programs.dispose();
    this.#release();
  }

  [Symbol.dispose](): void {
    this.dispose();
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
