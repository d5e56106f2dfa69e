import { type Finish, type GenerateEvent, type OpenAnswer, openAnswer } from '@markbase/text';
import { AdmissionQueue } from '../limits/admission-queue.js';
import { encodeMedia } from '../media/encode-media.js';
import type { ModelGauges, ServerMetrics } from '../metrics.js';
import type { ServedModel, ServerSettings } from '../server-options.js';
import { type AnswerPlan, engineOptions } from './answer-plan.js';
import { type Indexed, merge } from './merge.js';

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

/** Runs answers within the limits of the server and counts them in its metrics. */
export class AnswerRunner {
  readonly #settings: ServerSettings;
  readonly #queues: ReadonlyMap<ServedModel, AdmissionQueue>;
  /** Answers that are running or waiting. */
  readonly #controls = new Set<AnswerControl>();

  constructor(settings: ServerSettings) {
    this.#settings = settings;
    const { limits, models } = settings;
    this.#queues = new Map(
      models.map((served) => {
        const concurrent = limits.concurrent ?? served.model.settings.maxSequences;
        return [served, new AdmissionQueue({ concurrent, queue: limits.queue })];
      }),
    );
  }

  /** Number of answers that are running or waiting. */
  get busy(): number {
    return [...this.#queues.values()].reduce((sum, { running, waiting }) => sum + running + waiting, 0);
  }

  /** Current state of each model. */
  gauges(): Record<string, ModelGauges> {
    const entries = [...this.#queues].map(([{ id, model }, { running, waiting }]) => {
      const { maxSequences, rememberedSequences } = model.settings;
      const gauges = {
        running,
        waiting,
        busySequences: maxSequences - model.idleSequences,
        sequences: maxSequences,
        cacheBytes: model.sequenceBytes * (maxSequences + rememberedSequences),
      };
      return [id, gauges] as const;
    });
    return Object.fromEntries(entries);
  }

  /**
   * Waits for the request's turn, then checks it and encodes its media.
   *
   * @throws RequestError and the errors of `openAnswer`; the request's slot is released first
   */
  async open(
    plan: AnswerPlan,
    client: string,
    control: AnswerControl,
    metrics: ServerMetrics,
  ): Promise<RunningAnswer> {
    const { signal } = control;
    const beganMs = performance.now();
    const leave = await this.#enter(plan.served, client, plan.count, control);
    try {
      const answers = await this.#prepare(plan, signal);
      const queuedMs = performance.now() - beganMs;
      let isRead = false;
      // The client may leave before anyone iterates the events; then only this listener releases the slot.
      signal.addEventListener('abort', () => isRead || leave(), { once: true });
      signal.throwIfAborted();
      return {
        promptTokens: promptTokensOf(plan, answers),
        events: () => {
          isRead = true;
          return counted(answers, { plan, metrics, queuedMs, signal, leave });
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Counts the tokens of the prompt. That means encoding media, so the request waits for its turn too. */
  async countTokens(plan: AnswerPlan, client: string, control: AnswerControl): Promise<number> {
    const leave = await this.#enter(plan.served, client, 1, control);
    try {
      const [answer] = await this.#prepare(plan, control.signal);
      return answer!.promptTokens;
    } finally {
      leave();
    }
  }

  /** Stops every answer that is running or waiting. */
  stop(reason: unknown): void {
    for (const { abort } of [...this.#controls]) abort(reason);
  }

  async #enter(
    served: ServedModel,
    client: string,
    weight: number,
    control: AnswerControl,
  ): Promise<() => void> {
    this.#controls.add(control);
    try {
      const leave = await this.#queues.get(served)!.enter(client, weight, control.signal);
      return () => {
        this.#controls.delete(control);
        leave();
      };
    } catch (error) {
      this.#controls.delete(control);
      throw error;
    }
  }

  async #prepare(plan: AnswerPlan, signal: AbortSignal): Promise<OpenAnswer[]> {
    const { served, options, count } = plan;
    const { limits, allowedImageHosts: allowedHosts } = this.#settings;
    const messages =
      options.messages &&
      (await encodeMedia(options.messages, { encoder: served.media, allowedHosts, limits, signal }));
    const answers: OpenAnswer[] = [];
    for (let index = 0; index < count; index++) {
      answers.push(await openAnswer(served.model, engineOptions(plan, messages, index, signal)));
    }
    return answers;
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
    readonly plan: AnswerPlan;
    readonly metrics: ServerMetrics;
    readonly queuedMs: number;
    readonly signal: AbortSignal;
    readonly leave: () => void;
  },
): AsyncGenerator<Indexed<GenerateEvent>, void, void> {
  const { plan, metrics, queuedMs, signal, leave } = context;
  const model = plan.served.id;
  try {
    for await (const indexed of merge(answers.map((answer) => () => answer.events()))) {
      if (indexed.item.type === 'finish') metrics.answer(model, numbersOf(indexed.item, queuedMs));
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
