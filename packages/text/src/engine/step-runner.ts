import { OutOfMemoryError } from '@markbase/core';
import type { Program, StepInput, StepResult } from '@markbase/metal-runtime';
import type { DecoderConfig } from '../model/config.js';
import { LOGITS_OUTPUT } from '../model/decoder.js';
import type { Decoder } from '../model/layer.js';
import type { DraftedRow, Speculation } from '../speculation/speculation.js';
import type { BlockCopy, BlockStore } from './block-store.js';
import { type Choice, choiceOf } from './choice.js';
import type { Advance, DecodeRow, StepOptions } from './decode-queue.js';
import { decodeStep, type StepSpan } from './decode-step.js';
import { StepCounts } from './model-activity.js';
import { type PrefillJob, type PrefillPart, partEnd, prefillStep } from './prefill-step.js';
import { COPY_SOURCE_INPUTS, type Programs } from './programs.js';
import type { PromptRows } from './prompt.js';
import { PromptPace } from './prompt-pace.js';
import type { Sequence } from './sequence.js';
import type { SequencePool } from './sequence-pool.js';
import type { TextModelSettings } from './text-model-options.js';

/** Steps per number of rows before the first guess; the first ones also record programs and plans. */
const MEASUREMENTS = 4;

/** What steps need of their model. */
export interface StepRunnerParts {
  readonly config: DecoderConfig;
  readonly decoder: Pick<Decoder, 'adapters'>;
  readonly settings: TextModelSettings;
  readonly store: BlockStore;
  readonly pool: SequencePool;
  readonly programs: Programs;
  /** Guesses tokens; null = never. */
  readonly speculation: Speculation | null;
  /** Runs a program; fails if the model was disposed. */
  run(
    program: Program,
    step: StepInput,
    read: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<StepResult>;
}

/** A sequence, and the length that a step brings it to. */
interface Growth {
  readonly sequence: Sequence;
  readonly end: number;
}

/**
 * Runs the steps of a model's sequences, one at a time, and finds the blocks for their positions. If there are too few,
 * known prefixes are given up, then sequences, the last one taken first; these are computed again when it is their
 * turn.
 */
export class StepRunner {
  readonly counts = new StepCounts();
  readonly pace: PromptPace;
  readonly #parts: StepRunnerParts;

  constructor(parts: StepRunnerParts) {
    this.#parts = parts;
    this.pace = new PromptPace(parts.settings.interTokenMs, parts.settings.prefillChunk);
  }

  /** Takes over what is known of a prompt. @returns a piece that remains to be copied with `finish` */
  attach(sequence: Sequence, rows: PromptRows): BlockCopy | null {
    const { reuse } = sequence;
    return reuse && this.#parts.store.extend(sequence, rows, rows.end - 1, reuse === 'exact');
  }

  /** Copies the piece that `attach` has returned, unless the sequence was set aside since. */
  async finish(sequence: Sequence, copy: BlockCopy, signal: AbortSignal | undefined): Promise<void> {
    if (sequence.lost === null && sequence.blockCount > 0) await this.#copy(sequence, copy, signal);
    else this.#parts.store.endCopy(sequence, copy, false);
  }

  async #copy(sequence: Sequence, copy: BlockCopy, signal: AbortSignal | undefined): Promise<void> {
    const { node, begin, end } = copy;
    const { store, programs, run } = this.#parts;
    let isDone = false;
    try {
      const positions = Int32Array.from({ length: end - begin }, (_, row) => begin + row);
      const sources = [node.full, node.sliding!];
      const inputs = Object.fromEntries(
        COPY_SOURCE_INPUTS.map((name, kind) => [name, new Float32Array(end - begin).fill(sources[kind]!)]),
      );
      await run(programs.copy(), { positions, tables: [sequence.table], inputs }, [], signal);
      isDone = true;
    } finally {
      store.endCopy(sequence, copy, isDone);
    }
  }

  /**
   * The jobs that a step may compute now. A job first takes over what other sequences have computed meanwhile, and waits
   * while an earlier job computes what it needs next.
   */
  select(jobs: readonly PrefillJob[]): PrefillJob[] {
    const selected: PrefillJob[] = [];
    for (const job of jobs) {
      const { sequence, rows } = job;
      if (sequence.length >= rows.end) continue;
      this.#parts.store.extendWhole(sequence, rows);
      if (!selected.some((other) => this.#parts.store.computesNext(other, job))) selected.push(job);
    }
    return selected;
  }

  /** Runs one step over parts of prompts; returns the parts that it had blocks for, and the choices after prompts. */
  async prefill(
    wanted: readonly PrefillPart[],
    options: StepOptions,
  ): Promise<{ parts: PrefillPart[]; choices: Choice[] }> {
    const growths = wanted.map((part) => ({ part, sequence: part.job.sequence, end: part.end }));
    const parts = (await this.#makeRoom(growths)).map(({ part }) => part);
    const beginMs = performance.now();
    const choices = await this.#compute(parts, options);
    const rows = parts.reduce((sum, { begin, end }) => sum + end - begin, 0);
    this.pace.prompted(rows, performance.now() - beginMs);
    return { parts, choices };
  }

  /**
   * Adds a token to each sequence, and those of the guessed ones that are right, in one step if there are blocks for all
   * of them.
   */
  async decode(rows: readonly DecodeRow[], options: StepOptions): Promise<Advance[]> {
    const advances = new Map<DecodeRow, Advance>();
    const beginMs = performance.now();
    let left = [...rows];
    while (left.length > 0) {
      const growths = left.map((row) => ({ row, sequence: row.sequence, end: row.sequence.length + 1 }));
      const stepping = (await this.#makeRoom(growths)).map(({ row }) => row);
      const drafted = await this.#draft(stepping, options);
      for (const [index, advance] of (await this.#verify(drafted, options)).entries())
        advances.set(stepping[index]!, advance);
      left = stepping.length === left.length ? [] : left.filter((row) => !advances.has(row));
    }
    this.pace.decoded(performance.now() - beginMs);
    return rows.map((row) => advances.get(row)!);
  }

  /** Guesses what follows the rows of a step, as far as there are free blocks. */
  async #draft(rows: readonly DecodeRow[], { signal }: StepOptions): Promise<DraftedRow[]> {
    const { speculation, store, run } = this.#parts;
    const guessed = rows.find(({ answer }) => answer);
    if (!speculation || !guessed) return rows.map((row) => ({ row, drafted: [], source: null }));
    for (const count of speculation.takeMeasurements()) await this.#measure(guessed, count);
    const drafts = await speculation.draft(rows, (program, step, read) => run(program, step, read, signal));
    return drafts.map((draft) => {
      const { sequence } = draft.row;
      const hasRoom = store.reserve(sequence, sequence.length + 1 + draft.drafted.length);
      return hasRoom ? draft : { ...draft, drafted: [] };
    });
  }

  /** Measures a step with `count` rows of a sequence, and drops its results. */
  async #measure(row: DecodeRow, count: number): Promise<void> {
    const { sequence, answer } = row;
    const end = sequence.length + count;
    if (end > this.#parts.settings.contextTokens || !this.#parts.store.reserve(sequence, end)) return;
    const known = answer!.context.filter((token) => token >= 0);
    const drafted = Array.from({ length: count - 1 }, (_, index) => {
      return { token: known[index % known.length]!, sampling: row.sampling ?? {} };
    });
    for (let time = 0; time < MEASUREMENTS; time++) await this.#time([{ row, drafted, source: null }], {});
  }

  /** Runs a step with guesses; a guess is right if the step chooses the same token before it. */
  async #verify(drafts: readonly DraftedRow[], options: StepOptions): Promise<Advance[]> {
    const { settings, speculation, store } = this.#parts;
    const result = await this.#time(drafts, options);
    let next = 0;
    const advances = drafts.map((draft): Advance => {
      const { drafted } = draft;
      const { sequence, token } = draft.row;
      const choices: [Choice, ...Choice[]] = [choiceOf(result, next)];
      for (const guess of drafted) {
        if (choices.at(-1)!.token !== guess.token) break;
        choices.push(choiceOf(result, next + choices.length));
      }
      next += 1 + drafted.length;
      // What the step has written after these positions, later steps overwrite. In `high`, decoding uses the kernels of prefill.
      for (let index = 0; index < choices.length; index++)
        sequence.addToken(index === 0 ? token : drafted[index - 1]!.token, settings.precision === 'high');
      store.settle(sequence);
      speculation?.learn(draft, choices.length - 1);
      return { choices, draftedTokens: drafted.length };
    });
    this.counts.addDecode(advances);
    return advances;
  }

  async #time(drafts: readonly DraftedRow[], { signal, withLogits }: StepOptions): Promise<StepResult> {
    const { programs, speculation, decoder } = this.#parts;
    const step = decodeStep(drafts, decoder);
    const owners = drafts.map(({ row }) => row);
    const read = [...programs.read, ...(withLogits ? [LOGITS_OUTPUT] : [])];
    const begin = performance.now();
    const result = await this.#run(programs.decode(step.tokens.length), step, owners, read, signal);
    speculation?.record(step.tokens.length, performance.now() - begin);
    return result;
  }

  /** True if there are blocks for another token of all sequences without setting any aside. */
  hasRoomFor(rows: readonly { readonly sequence: Sequence }[]): boolean {
    const { store } = this.#parts;
    return store.hasRoom(rows.map(({ sequence }) => store.missingBlocks(sequence, sequence.length + 1)));
  }

  /** See `TextModel.fitting`. */
  fitting<Item extends { readonly sequence: Sequence }>(items: readonly Item[]): Item[] {
    if (this.hasRoomFor(items)) return [...items];
    const fitting: Item[] = [];
    for (const item of [...items].sort((a, b) => a.sequence.id - b.sequence.id)) {
      if (fitting.length > 0 && !this.hasRoomFor([...fitting, item])) break;
      fitting.push(item);
    }
    return fitting;
  }

  /** Runs a step over spans of sequences, whose blocks were taken before. */
  async run(
    program: Program,
    step: StepInput,
    spans: readonly StepSpan[],
    { signal }: StepOptions,
    read: readonly string[],
  ): Promise<StepResult> {
    const result = await this.#run(program, step, spans, read, signal);
    for (const { sequence, rows, end } of spans) {
      sequence.add(rows, end);
      this.#parts.store.settle(sequence);
    }
    return result;
  }

  /** Runs a step; slots are the indices of `owners`. */
  #run(
    program: Program,
    step: StepInput,
    owners: readonly { readonly sequence: Sequence }[],
    read: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<StepResult> {
    const tables = owners.map(({ sequence }) => sequence.table);
    return this.#parts.run(program, { ...step, tables }, read, signal);
  }

  /** Takes the blocks for positions of one sequence up to `end`. */
  async reserve(sequence: Sequence, end: number): Promise<void> {
    await this.#makeRoom([{ sequence, end }]);
  }

  /** Lets a sequence go on at `end` without computing anything. */
  async skipTo(sequence: Sequence, end: number): Promise<void> {
    for (let begin = sequence.length; begin < end; begin = sequence.length) {
      const next = Math.min(end, begin + this.#parts.settings.prefillChunk);
      await this.reserve(sequence, next);
      const tokens = new Int32Array(next - begin);
      const visibleEnd = tokens.map((_, index) => begin + index);
      // No prompt has this key.
      const keys = Array.from(tokens, () => -1);
      const soft = Array.from(tokens, () => null);
      sequence.add({ begin, tokens, layerTokens: tokens, visibleEnd, keys, soft }, next, false);
      this.#parts.store.settle(sequence);
    }
  }

  async #compute(parts: readonly PrefillPart[], options: StepOptions): Promise<Choice[]> {
    const { config, programs } = this.#parts;
    const step = prefillStep(parts, config.hiddenWidth, this.#parts.decoder);
    const program = programs.prefill(step.tokens.length, step.softIndex !== undefined);
    const spans = parts.map(({ job, begin, end }) => ({ ...job, begin, end }));
    const read = [...programs.read, ...(options.withLogits ? [LOGITS_OUTPUT] : [])];
    const result = await this.run(program, step, spans, options, read);
    this.counts.prefillTokens += step.tokens.length;
    return Array.from(step.outputRows, (_, index) => choiceOf(result, index));
  }

  /** Takes blocks for as many sequences as possible: in any case for the one taken first, the others if there is room. */
  async #makeRoom<Wanted extends Growth>(wanted: readonly Wanted[]): Promise<Wanted[]> {
    const { store } = this.#parts;
    // What a sequence that was set aside has held may still be known, and is not given up for it.
    const missing = wanted.map(({ sequence, end }) =>
      sequence.lost ? 0 : store.missingBlocks(sequence, end),
    );
    store.prepare(missing.reduce((sum, count) => sum + count, 0));
    const admitted = new Set<Wanted>();
    for (const growth of [...wanted].sort((a, b) => a.sequence.id - b.sequence.id)) {
      const { sequence, end } = growth;
      // Nearly always, there are blocks, and nothing to wait for.
      const isReady = !sequence.lost && store.reserve(sequence, end);
      if (isReady || (await this.#grow(growth, admitted.size === 0))) admitted.add(growth);
    }
    return wanted.filter((growth) => admitted.has(growth));
  }

  /** Brings a sequence back, and takes its blocks. `isFirst`: all others are set aside for it if necessary. */
  async #grow({ sequence, end }: Growth, isFirst: boolean): Promise<boolean> {
    const { store, settings } = this.#parts;
    for (let lost = sequence.lost; lost; lost = sequence.lost) {
      // Whatever prompts may share, these are the sequence's own bits if they are still there.
      const copy = sequence.heldTokens === 0 ? store.extend(sequence, lost, lost.end, false) : null;
      if (copy) await this.#copy(sequence, copy, undefined);
      if (!sequence.lost) break;
      const begin = sequence.heldTokens;
      const pieceEnd = partEnd(lost, begin, settings.prefillChunk, true);
      if (!this.#take(sequence, pieceEnd, isFirst)) {
        store.give(sequence, true);
        return false;
      }
      await this.#compute([{ job: { sequence, rows: lost }, begin, end: pieceEnd }], {});
    }
    return this.#take(sequence, end, isFirst);
  }

  #take(sequence: Sequence, end: number, isFirst: boolean): boolean {
    const { store, pool } = this.#parts;
    while (!store.reserve(sequence, end)) {
      if (!isFirst) return false;
      const last = pool.busy.findLast((other) => other !== sequence && other.blockCount > 0);
      // Reached only if the caches cannot hold one sequence, which is checked when they are allocated.
      if (!last) throw new OutOfMemoryError({ requestedBytes: 0, label: 'caches' });
      store.give(last, true);
    }
    return true;
  }
}
