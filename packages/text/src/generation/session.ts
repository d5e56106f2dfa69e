import { InvalidArgumentError } from '@markbase/core';
import type { ChatMessage } from '../chat/index.js';
import type { SavedConversation } from '../saved/saved-caches.js';
import type { TextModel } from '../text-model.js';
import type { GenerateEvent, GenerateResult } from './events.js';
import { resultOf, stream } from './generate.js';
import type { GenerateOptions } from './generate-options.js';
import { encodeConversation } from './prepare.js';

/** Options for all turns of a session; each turn can override them. */
export type SessionOptions = Omit<GenerateOptions, 'messages' | 'prompt' | 'reusePrefix'> & {
  /** The conversation so far, such as a system message. */
  readonly messages?: readonly ChatMessage[];
};

/** Options of one turn. */
export type TurnOptions = Omit<SessionOptions, 'messages'>;

/**
 * A conversation. Every turn reuses what the caches still hold of earlier turns: the longest common prefix, compared by
 * tokens and media content. If another conversation has taken over the caches, or sliding layers no longer hold what
 * the prefix needs, the turn is computed in full; the answer is the same.
 */
export class Session {
  /** The model that answers. */
  readonly model: TextModel;
  readonly #options: TurnOptions;
  readonly #messages: ChatMessage[];
  #isAnswering = false;

  constructor(model: TextModel, options: SessionOptions = {}) {
    const { messages = [], ...turnOptions } = options;
    this.model = model;
    this.#options = turnOptions;
    this.#messages = [...messages];
  }

  /** The conversation so far. */
  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /**
   * Adds messages and streams the answer. Both become part of the conversation with the `finish` event: a turn that
   * fails, is aborted or is left early does not change the conversation.
   *
   * @param input what the user says, or messages such as tool results
   * @throws InvalidArgumentError while another turn is running, and the errors of `stream`
   */
  async *stream(
    input: string | readonly ChatMessage[],
    options: TurnOptions = {},
  ): AsyncGenerator<GenerateEvent, void, void> {
    this.#checkIdle();
    this.#isAnswering = true;
    try {
      yield* this.#answer(input, options);
    } finally {
      this.#isAnswering = false;
    }
  }

  /** Adds messages and returns the complete answer. See `stream`. */
  async generate(input: string | readonly ChatMessage[], options: TurnOptions = {}): Promise<GenerateResult> {
    const events: GenerateEvent[] = [];
    const reportsTokens = options.logprobs ?? this.#options.logprobs ?? false;
    const tokens: number[] = [];
    for await (const event of this.stream(input, { ...options, logprobs: true })) {
      events.push(event);
      if (event.type === 'token') tokens.push(event.token);
    }
    return resultOf(events, tokens, reportsTokens);
  }

  /**
   * Writes the conversation to a file, with the keys and values that the caches hold of it, so that another process can
   * go on with it: see `TextModel.restore`. Only a complete file gets this name.
   *
   * @throws FileAccessError; InvalidArgumentError while a turn is running
   */
  async save(file: string): Promise<SavedConversation> {
    this.#checkIdle();
    const messages = [...this.#messages];
    if (messages.length === 0) return this.model.save(file, messages, null);
    const { adapter, tools, enableThinking, preserveThinking } = this.#options;
    const prompt = await encodeConversation(this.model, messages, {
      ...(tools !== undefined && { tools }),
      ...(enableThinking !== undefined && { enableThinking }),
      ...(preserveThinking !== undefined && { preserveThinking }),
    });
    const rows = this.model.layOut(adapter === undefined ? prompt : { ...prompt, adapter });
    return this.model.save(file, messages, rows);
  }

  #checkIdle(): void {
    if (!this.#isAnswering) return;
    throw new InvalidArgumentError({
      argument: 'session',
      expected: 'one turn at a time',
      received: 'a second turn while one is running',
      hint: 'First read the running answer to its end, or leave its loop',
    });
  }

  async *#answer(
    input: string | readonly ChatMessage[],
    options: TurnOptions,
  ): AsyncGenerator<GenerateEvent, void, void> {
    const added: readonly ChatMessage[] =
      typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    const messages = [...this.#messages, ...added];
    const request = { ...this.#options, ...options, messages, reusePrefix: true };
    const events: GenerateEvent[] = [];
    for await (const event of stream(this.model, request)) {
      events.push(event);
      if (event.type === 'finish')
        this.#messages.splice(0, Number.POSITIVE_INFINITY, ...messages, answerOf(events));
      yield event;
    }
  }
}

/** The answer as a message of the conversation. */
function answerOf(events: readonly GenerateEvent[]): ChatMessage {
  const { text, reasoning, toolCalls } = resultOf(events, [], false);
  return {
    role: 'assistant',
    content: text,
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && {
      toolCalls: toolCalls.map(({ id, name, argumentsJson }) => ({ id, name, arguments: argumentsJson })),
    }),
  };
}
