import type { Finish, GeneratedToken, GenerateEvent } from '@markbase/text';
import type { Indexed } from '../answering/merge.js';
import { type ChatHead, usageOf } from '../chat/chat-answer.js';
import type { Frame } from '../http/event-stream.js';

class Choice {
  text = '';
  readonly tokens: GeneratedToken[] = [];
  pending: GeneratedToken[] = [];
  finish: Finish | null = null;
}

/** Turns the engine's events into a plain completion, either complete or in chunks. */
export class CompletionAnswer {
  readonly #head: ChatHead;
  readonly #promptTokens: number;
  readonly #hasLogprobs: boolean;
  readonly #withUsage: boolean;
  readonly #choices: readonly Choice[];

  constructor(options: {
    head: ChatHead;
    count: number;
    promptTokens: number;
    logprobs: boolean;
    withUsage?: boolean;
  }) {
    this.#head = options.head;
    this.#promptTokens = options.promptTokens;
    this.#hasLogprobs = options.logprobs;
    this.#withUsage = options.withUsage ?? false;
    this.#choices = Array.from({ length: options.count }, () => new Choice());
  }

  /** Takes an event of the engine; returns the chunks to send for it. A tool call is plain text here. */
  push({ index, item }: Indexed<GenerateEvent>): Frame[] {
    const choice = this.#choices[index]!;
    if (item.type === 'token') {
      choice.pending.push(item);
      return [];
    }
    if (item.type === 'finish') {
      choice.finish = item;
      return [this.#chunk(index, '', [], item.reason === 'length' ? 'length' : 'stop')];
    }
    const text = item.type === 'tool-call' ? item.raw : item.text;
    choice.text += text;
    const tokens = choice.pending;
    choice.pending = [];
    choice.tokens.push(...tokens);
    return [this.#chunk(index, text, tokens, null)];
  }

  /** The chunk after the last one, which reports token usage. */
  usageChunk(): Frame {
    return { data: { ...this.#head, object: 'text_completion', choices: [], usage: this.#usage() } };
  }

  /** The complete answer. */
  whole(): object {
    const choices = this.#choices.map(({ text, tokens, finish }, index) => ({
      index,
      text,
      logprobs: this.#hasLogprobs ? logprobsOf(tokens, 0) : null,
      finish_reason: finish!.reason === 'length' ? 'length' : 'stop',
    }));
    return { ...this.#head, object: 'text_completion', choices, usage: this.#usage() };
  }

  #chunk(index: number, text: string, tokens: readonly GeneratedToken[], finishReason: string | null): Frame {
    const offset = this.#choices[index]!.text.length - text.length;
    const logprobs = this.#hasLogprobs && tokens.length > 0 ? logprobsOf(tokens, offset) : null;
    const choices = [{ index, text, logprobs, finish_reason: finishReason }];
    const usage = this.#withUsage ? { usage: null } : {};
    return { data: { ...this.#head, object: 'text_completion', choices, ...usage } };
  }

  #usage(): object {
    return usageOf(
      this.#promptTokens,
      this.#choices.map(({ finish }) => finish),
    );
  }
}

/** Log-probabilities in the older format: parallel lists, with alternatives keyed by their text. */
function logprobsOf(tokens: readonly GeneratedToken[], begin: number): object {
  let offset = begin;
  const offsets = tokens.map(({ text }) => {
    offset += text.length;
    return offset - text.length;
  });
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ topLogprobs }) =>
      Object.fromEntries(topLogprobs.map(({ text, logprob }) => [text, logprob])),
    ),
    text_offset: offsets,
  };
}
