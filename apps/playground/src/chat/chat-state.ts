import type { ChatMessage, ContentPart, GenerateEvent, GenerateOptions, TextModel } from '@markbase/text';

/** Sampling options and limits that the user may change during a chat. */
export type ChatSettings = Pick<
  GenerateOptions,
  | 'temperature'
  | 'topK'
  | 'topP'
  | 'minP'
  | 'repetitionPenalty'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'maxTokens'
  | 'seed'
  | 'enableThinking'
>;

/** What a message may contain besides text. */
export type MediaKind = 'image' | 'audio' | 'video';

/** Encodes a media file with the encoders of the model. */
export type MediaReader = (
  kind: MediaKind,
  path: string,
  signal: AbortSignal,
) => Promise<readonly ContentPart[]>;

/** A conversation in a terminal. */
export class ChatState {
  readonly model: TextModel;
  readonly readMedia: MediaReader;
  settings: ChatSettings;
  /** Called while the model reads a question. */
  onPrefill: GenerateOptions['onPrefill'];
  /** Media to send with the next message. */
  readonly pending: { readonly name: string; readonly parts: readonly ContentPart[] }[] = [];
  /** The `finish` event of the last answer; null before the first one. */
  last: Extract<GenerateEvent, { type: 'finish' }> | null = null;
  #system: string;
  #messages: ChatMessage[] = [];

  constructor(model: TextModel, options: { system: string; settings: ChatSettings; readMedia: MediaReader }) {
    this.model = model;
    this.settings = options.settings;
    this.readMedia = options.readMedia;
    this.#system = options.system;
  }

  /** The system prompt; empty = none. */
  get system(): string {
    return this.#system;
  }

  set system(text: string) {
    this.#system = text;
  }

  /** Questions and answers so far. */
  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /** Starts over with the given messages. */
  restart(messages: readonly ChatMessage[] = []): void {
    this.#messages = [...messages];
    this.pending.length = 0;
    this.last = null;
  }

  /** Removes the last question and its answer. @returns the question, or null if there is none */
  undo(): ChatMessage | null {
    const index = this.#messages.findLastIndex(({ role }) => role === 'user');
    return index < 0 ? null : (this.#messages.splice(index)[0] ?? null);
  }

  /** Asks a question. A stopped answer stays in the conversation as far as it got. */
  async *ask(text: string, signal: AbortSignal): AsyncGenerator<GenerateEvent> {
    const media = this.pending.splice(0).flatMap(({ parts }) => parts);
    const content = media.length === 0 ? text : [...media, { type: 'text' as const, text }];
    yield* this.answer({ role: 'user', content }, signal);
  }

  /** Asks with a complete message. If no answer arrives at all, the message is removed again. */
  async *answer(message: ChatMessage, signal: AbortSignal): AsyncGenerator<GenerateEvent> {
    const { stream } = await import('@markbase/text');
    const before = this.#messages.length;
    this.#messages.push(message);
    const system: ChatMessage[] = this.#system === '' ? [] : [{ role: 'system', content: this.#system }];
    let answer = '';
    try {
      const messages = [...system, ...this.#messages];
      for await (const event of stream(this.model, {
        ...this.settings,
        messages,
        signal,
        reusePrefix: true,
        ...(this.onPrefill && { onPrefill: this.onPrefill }),
      })) {
        if (event.type === 'text') answer += event.text;
        if (event.type === 'finish') this.last = event;
        yield event;
      }
    } finally {
      if (answer === '') this.#messages.length = before;
      else this.#messages.push({ role: 'assistant', content: answer });
    }
  }
}
