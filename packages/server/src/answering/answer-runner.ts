import type { Finish, GenerateEvent, OpenAnswer, TextModel } from '@markbase/text';
import { AdmissionQueue } from '../limits/admission-queue.js';
import type { ByteClaim } from '../limits/byte-budget.js';
import type { Logger } from '../logger.js';
import { encodeMedia } from '../media/encode-media.js';
import { fetchMedia } from '../media/fetch-media.js';
import type { ModelGauges, ServerMetrics } from '../metrics.js';
import type { ServedModel, ServerSettings } from '../server-options.js';
import type { AnswerPlan } from './answer-plan.js';
import { type Indexed, merge } from './merge.js';
import { openPlanned } from './open-planned.js';

/** A request that has passed its checks and has its turn. */
export interface RunningAnswer {
  /** Tokens in the prompt, or in all distinct prompts together. */
  readonly promptTokens: number;
  /** Events of all choices. Iterate once; stopping early is fine. */
  events(): AsyncGenerator<Indexed<GenerateEvent>, void, void>;
}

/** Lets the server or the client stop an answer. */
export interface AnswerControl {
  readonly signal: AbortSignal;
  /** Aborts the signal. */
  readonly abort: (reason: unknown) => void;
}

/** A request that is being fetched, queued and checked. */
export interface Opening<Answer = RunningAnswer> {
  /** Settles when all media have been fetched. */
  readonly fetched: Promise<unknown>;
  readonly answer: Promise<Answer>;
}

/** The client of a request, and what the request uses. */
export interface AnswerPlace {
  readonly client: string;
  readonly control: AnswerControl;
  /** Counts the bytes of fetched media. */
  readonly claim: ByteClaim;
  readonly metrics: ServerMetrics;
}

/** Runs answers within the limits of the server and counts them in its metrics. */
export class AnswerRunner {
  readonly #settings: ServerSettings;
  /** A model and its adapters share a queue, as they share sequences. */
  readonly #queues: ReadonlyMap<TextModel, AdmissionQueue>;
  /** Answers that are running or waiting. */
  readonly #controls = new Set<AnswerControl>();

  constructor(settings: ServerSettings) {
    this.#settings = settings;
    const { limits, models } = settings;
    this.#queues = new Map(
      models.map((served) => {
        const concurrent = limits.concurrent ?? served.model.settings.maxSequences;
        return [served.model, new AdmissionQueue({ concurrent, queue: limits.queue })];
      }),
    );
  }

  /** Number of answers that are running or waiting, and of requests whose media are being fetched. */
  get busy(): number {
    const answers = [...this.#queues.values()].reduce(
      (sum, { running, waiting }) => sum + running + waiting,
      0,
    );
    return Math.max(answers, this.#controls.size);
  }

  /** True while requests wait for their turn. */
  get isContended(): boolean {
    return [...this.#queues.values()].some(({ waiting }) => waiting > 0);
  }

  /** Current state of each model. */
  gauges(): Record<string, ModelGauges> {
    const entries = [...this.#queues].map(([model, { running, waiting }]) => {
      const { id } = this.#settings.models.find((served) => served.model === model)!;
      const { maxSequences } = model.settings;
      const { heldCacheBytes, idleCacheBytes } = model.activity;
      const gauges = {
        running,
        waiting,
        busySequences: maxSequences - model.idleSequences,
        sequences: maxSequences,
        cacheBytes: model.cacheBytes,
        heldCacheBytes,
        idleCacheBytes,
      };
      return [id, gauges] as const;
    });
    return Object.fromEntries(entries);
  }

  /**
   * Fetches the media of a request, without holding a slot, then waits for its turn, checks it and encodes the media.
   *
   * Its promises reject with a RequestError or an error of `openAnswers`; the slot is released first.
   */
  open(plan: AnswerPlan, place: AnswerPlace): Opening {
    const beganMs = performance.now();
    const { control, metrics } = place;
    const model = plan.served.id;
    const { signal } = control;
    this.#controls.add(control);
    const fetched = this.#fetch(plan, place);
    const open = async (): Promise<RunningAnswer> => {
      const leave = await this.#enter(await fetched, place);
      try {
        const { answers, promptTokens } = await this.#prepare(await fetched, signal);
        const queuedMs = performance.now() - beganMs;
        let isRead = false;
        // The client may leave before anyone iterates the events; then only this listener releases the slot.
        signal.addEventListener('abort', () => isRead || leave(), { once: true });
        signal.throwIfAborted();
        return {
          promptTokens,
          events: () => {
            isRead = true;
            return counted(answers, {
              model,
              metrics,
              logger: this.#settings.logger,
              queuedMs,
              signal,
              leave,
            });
          },
        };
      } catch (error) {
        leave();
        throw error;
      }
    };
    const answer = open();
    answer.catch(() => this.#controls.delete(control));
    return { fetched, answer };
  }

  /**
   * Waits for a slot in which work other than a planned answer may run.
   *
   * @returns a function that releases the slot; calling it again does nothing
   */
  async enter(served: ServedModel, place: AnswerPlace): Promise<() => void> {
    const { control } = place;
    this.#controls.add(control);
    try {
      return await this.#enter({ served, count: 1 }, place);
    } catch (error) {
      this.#controls.delete(control);
      throw error;
    }
  }

  /** Counts the tokens of the prompt. That means encoding media, so the request waits for its turn too. */
  async countTokens(plan: AnswerPlan, place: AnswerPlace): Promise<number> {
    const { control } = place;
    this.#controls.add(control);
    try {
      const fetched = await this.#fetch({ ...plan, count: 1 }, place);
      const leave = await this.#enter(fetched, place);
      try {
        return (await this.#prepare(fetched, control.signal)).promptTokens;
      } finally {
        leave();
      }
    } finally {
      this.#controls.delete(control);
    }
  }

  /** Stops every answer that is running or waiting. */
  stop(reason: unknown): void {
    for (const { abort } of [...this.#controls]) abort(reason);
  }

  async #fetch(plan: AnswerPlan, { control: { signal }, claim }: AnswerPlace): Promise<AnswerPlan> {
    const { messages } = plan.options;
    if (!messages) return plan;
    const { limits, allowedImageHosts: allowedHosts } = this.#settings;
    const encoder = plan.served.media;
    const fetched = await fetchMedia(messages, { encoder, allowedHosts, limits, claim, signal });
    return { ...plan, options: { ...plan.options, messages: fetched } };
  }

  async #enter(
    { served, count }: Pick<AnswerPlan, 'served' | 'count'>,
    { client, control }: AnswerPlace,
  ): Promise<() => void> {
    const leave = await this.#queues.get(served.model)!.enter(client, count, control.signal);
    return () => {
      this.#controls.delete(control);
      leave();
    };
  }

  async #prepare(
    plan: AnswerPlan,
    signal: AbortSignal,
  ): Promise<{ answers: readonly OpenAnswer[]; promptTokens: number }> {
    const { served, options } = plan;
    const contextTokens = served.model.settings.contextTokens;
    const messages =
      options.messages &&
      (await encodeMedia(options.messages, { encoder: served.media, contextTokens, signal }));
    const answers = await openPlanned(this.#settings.openAnswers, plan, { messages, signal });
    return { answers, promptTokens: promptTokensOf(plan, answers) };
  }
}

/** Several answers to one prompt count it once. */
function promptTokensOf({ prompts }: AnswerPlan, answers: readonly OpenAnswer[]): number {
  const counted = prompts
    ? answers.filter((_, index) => prompts.indexOf(prompts[index]!) === index)
    : [answers[0]!];
  return counted.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
}

async function* counted(
  answers: readonly OpenAnswer[],
  context: {
    readonly model: string;
    readonly metrics: ServerMetrics;
    readonly logger: Logger | null;
    readonly queuedMs: number;
    readonly signal: AbortSignal;
    readonly leave: () => void;
  },
): AsyncGenerator<Indexed<GenerateEvent>, void, void> {
  const { model, metrics, logger, queuedMs, signal, leave } = context;
  try {
    for await (const indexed of merge(answers.map((answer) => () => answer.events()))) {
      if (indexed.item.type === 'finish') {
        metrics.answer(model, numbersOf(indexed.item, queuedMs));
        const { length } = indexed.item.warnings;
        // The calls themselves are part of an answer, which is not logged.
        if (length > 0)
          logger?.warn('tool calls could not be read and became text', { model, calls: length });
      }
      yield indexed;
    }
  } finally {
    if (signal.aborted) metrics.abort(model);
    leave();
  }
}

function numbersOf({ usage, timings }: Finish, queuedMs: number) {
  const { firstTokenMs, totalMs } = timings;
  return { ...usage, firstTokenMs: firstTokenMs + queuedMs, totalMs: totalMs + queuedMs };
}
