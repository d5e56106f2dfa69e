import type { TextModel } from '../text-model.js';
import type { Answer } from './answer.js';
import type { Finish, GeneratedToken, GeneratedToolCall, GenerateEvent, GenerateResult } from './events.js';
import type { GenerateOptions } from './generate-options.js';
import { prepareAnswer } from './prepare.js';
import { runTokens } from './run-tokens.js';

/** An event of one of several answers. */
export interface BatchEvent {
  /** Index of the request. */
  readonly index: number;
  /** What happened. */
  readonly event: GenerateEvent;
}

/**
 * Answers one prompt; yields events as they happen and ends with `finish`. Leaving the loop early stops the generation.
 *
 * @throws InvalidArgumentError for options out of range; ContextLengthError for a prompt that does not fit (prompts are
 *   never truncated); the signal's reason when aborted, during prefill or decode
 */
export async function* stream(
  model: TextModel,
  options: GenerateOptions,
): AsyncGenerator<GenerateEvent, void, void> {
  for await (const { event } of streamBatch(model, [options], options)) yield event;
}

/** Answers one prompt; returns the complete answer. Errors: those of `stream`. */
export async function generate(model: TextModel, options: GenerateOptions): Promise<GenerateResult> {
  const [result] = await generateBatch(model, [options], options);
  return result!;
}

/**
 * Answers several prompts at once: they share the steps of one program, up to `maxSequences` at a time. Greedy answers
 * are the same as each prompt would get alone; in `high`, bit for bit.
 *
 * @param options.signal aborts all answers; the signals of single requests are ignored
 */
export async function* streamBatch(
  model: TextModel,
  requests: readonly GenerateOptions[],
  options: Pick<GenerateOptions, 'signal' | 'onPrefill'> = {},
): AsyncGenerator<BatchEvent, void, void> {
  const answers = await Promise.all(requests.map((request) => prepareAnswer(model, request)));
  yield* events(model, answers, options);
}

/** Answers several prompts at once; returns the complete answers in the order of the requests. See `streamBatch`. */
export async function generateBatch(
  model: TextModel,
  requests: readonly GenerateOptions[],
  options: Pick<GenerateOptions, 'signal' | 'onPrefill'> = {},
): Promise<GenerateResult[]> {
  const answers = await Promise.all(requests.map((request) => prepareAnswer(model, request)));
  const collected = answers.map(() => [] as GenerateEvent[]);
  for await (const { index, event } of events(model, answers, options)) collected[index]!.push(event);
  return answers.map((answer, index) => {
    const reportsTokens = requests[index]!.logprobs ?? false;
    return resultOf(collected[index]!, answer.run.tokens, reportsTokens);
  });
}

/** Assembles the events of an answer into a result. */
export function resultOf(
  events: readonly GenerateEvent[],
  tokens: readonly number[],
  reportsTokens: boolean,
): GenerateResult {
  let text = '';
  let reasoning = '';
  const toolCalls: GeneratedToolCall[] = [];
  const logprobs: GeneratedToken[] = [];
  let finish: ({ type: 'finish' } & Finish) | undefined;
  for (const event of events) {
    if (event.type === 'text') text += event.text;
    else if (event.type === 'reasoning') reasoning += event.text;
    else if (event.type === 'finish') finish = event;
    else if (event.type === 'token') {
      const { type: _, ...token } = event;
      logprobs.push(token);
    } else {
      const { type: _, ...call } = event;
      toolCalls.push(call);
    }
  }
  const { reason: finishReason, type: _, ...rest } = finish!;
  const answer = { text, reasoning, toolCalls, tokens, finishReason, ...rest };
  return reportsTokens ? { ...answer, logprobs } : answer;
}

async function* events(
  model: TextModel,
  answers: readonly Answer[],
  { signal, onPrefill }: Pick<GenerateOptions, 'signal' | 'onPrefill'>,
): AsyncGenerator<BatchEvent, void, void> {
  const indexOf = new Map(answers.map((answer, index) => [answer.run, index]));
  const runs = answers.map((answer) => answer.run);
  const options = { ...(signal && { signal }), ...(onPrefill && { onPrefill }) };
  for await (const { run, choice } of runTokens(model, runs, options)) {
    const index = indexOf.get(run)!;
    for (const event of answers[index]!.push(choice)) yield { index, event };
  }
}
