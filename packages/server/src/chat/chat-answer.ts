import type { Finish, GenerateEvent, Tokenizer } from '@markbase/text';
import type { Indexed } from '../answering/merge.js';
import type { Frame } from '../http/event-stream.js';
import { type TokenLogprob, tokenLogprob } from './chat-logprobs.js';

/** Fields that all chunks of an answer share. */
export interface ChatHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** Options of `ChatAnswer`. */
export interface ChatAnswerOptions {
  readonly head: ChatHead;
  readonly count: number;
  readonly promptTokens: number;
  readonly tokenizer: Tokenizer;
  readonly logprobs: boolean;
  /** Chunks before the last have `usage: null`, as clients that ask for usage expect. */
  readonly withUsage?: boolean;
}

const FINISH_REASONS = { stop: 'stop', length: 'length', 'tool-calls': 'tool_calls' } as const;

class Choice {
  text = '';
  reasoning = '';
  readonly calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = [];
  readonly logprobs: TokenLogprob[] = [];
  /** Tokens whose text has not been emitted yet. */
  pending: TokenLogprob[] = [];
  finish: Finish | null = null;
}

/** Turns the engine's events into a chat completion, either complete or in chunks. */
export class ChatAnswer {
  readonly #options: ChatAnswerOptions;
  readonly #choices: readonly Choice[];

  constructor(options: ChatAnswerOptions) {
    this.#options = options;
    this.#choices = Array.from({ length: options.count }, () => new Choice());
  }

  /** The first chunk of every choice. */
  begin(): Frame[] {
    return this.#choices.map((_, index) => this.#chunk(index, { role: 'assistant', content: '' }));
  }

  /** Takes an event of the engine; returns the chunks to send for it. */
  push({ index, item }: Indexed<GenerateEvent>): Frame[] {
    const choice = this.#choices[index]!;
    switch (item.type) {
      case 'token':
        if (item.part === 'text') choice.pending.push(tokenLogprob(this.#options.tokenizer, item));
        return [];
      case 'text': {
        choice.text += item.text;
        const tokens = this.#takeTokens(choice);
        choice.logprobs.push(...tokens);
        return [this.#chunk(index, { content: item.text }, tokens)];
      }
      case 'reasoning':
        choice.reasoning += item.text;
        return [this.#chunk(index, { reasoning_content: item.text })];
      case 'tool-call': {
        const call = {
          id: item.id,
          type: 'function' as const,
          function: { name: item.name, arguments: item.argumentsJson },
        };
        choice.calls.push(call);
        return this.#callChunks(index, choice.calls.length - 1, call);
      }
      case 'finish':
        choice.finish = item;
        return [this.#chunk(index, {}, [], FINISH_REASONS[item.reason])];
    }
  }

  /** The chunk after the last one, which reports token usage and times. */
  usageChunk(): Frame {
    return { data: { ...this.#chunkHead(), choices: [], usage: this.#usage(), timings: this.#timings() } };
  }

  /** The complete answer. */
  whole(): object {
    return {
      ...this.#options.head,
      object: 'chat.completion',
      choices: this.#choices.map((choice, index) => ({
        index,
        message: {
          role: 'assistant',
          content: choice.calls.length > 0 && choice.text === '' ? null : choice.text,
          refusal: null,
          ...(choice.reasoning !== '' && { reasoning_content: choice.reasoning }),
          ...(choice.calls.length > 0 && { tool_calls: choice.calls }),
        },
        logprobs: this.#options.logprobs ? { content: choice.logprobs, refusal: null } : null,
        finish_reason: FINISH_REASONS[choice.finish!.reason],
      })),
      usage: this.#usage(),
    };
  }

  #callChunks(index: number, position: number, call: Choice['calls'][number]): Frame[] {
    const { function: fields, ...rest } = call;
    const delta = (value: object) => this.#chunk(index, { tool_calls: [{ index: position, ...value }] });
    return [
      delta({ ...rest, function: { name: fields.name, arguments: '' } }),
      delta({ function: { arguments: fields.arguments } }),
    ];
  }

  #takeTokens(choice: Choice): TokenLogprob[] {
    const tokens = choice.pending;
    choice.pending = [];
    return tokens;
  }

  #chunk(
    index: number,
    delta: object,
    tokens: readonly TokenLogprob[] = [],
    finishReason: string | null = null,
  ): Frame {
    const logprobs = this.#options.logprobs && tokens.length > 0 ? { content: tokens, refusal: null } : null;
    return {
      data: { ...this.#chunkHead(), choices: [{ index, delta, logprobs, finish_reason: finishReason }] },
    };
  }

  #chunkHead(): object {
    const { head, withUsage } = this.#options;
    const usage = withUsage ? { usage: null } : {};
    return { ...head, object: 'chat.completion.chunk', ...usage };
  }

  /** Milliseconds from the start of the answers to the first token of any and to the end of the last. */
  #timings(): object {
    const all = this.#choices.flatMap(({ finish }) => (finish ? [finish.timings] : []));
    return {
      first_token_ms: Math.min(...all.map(({ firstTokenMs }) => firstTokenMs)),
      total_ms: Math.max(...all.map(({ totalMs }) => totalMs)),
    };
  }

  #usage(): object {
    return usageOf(
      this.#options.promptTokens,
      this.#choices.map(({ finish }) => finish),
    );
  }
}

/** Token usage of all answers to one prompt, in OpenAI's format. */
export function usageOf(promptTokens: number, finishes: readonly (Finish | null)[]): object {
  const sum = (pick: (finish: Finish) => number) =>
    finishes.reduce((total, finish) => total + (finish ? pick(finish) : 0), 0);
  const completionTokens = sum(({ usage }) => usage.completionTokens);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: finishes[0]?.usage.cachedTokens ?? 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: sum(({ usage }) => usage.reasoningTokens),
      audio_tokens: 0,
      accepted_prediction_tokens: sum(({ usage }) => usage.acceptedTokens),
      rejected_prediction_tokens: sum(({ usage }) => usage.rejectedTokens),
    },
  };
}
