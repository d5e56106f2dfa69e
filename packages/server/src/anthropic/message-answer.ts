import { type Finish, type GenerateEvent, parseExactJson } from '@markbase/text';
import type { Frame } from '../http/event-stream.js';
import { thinkingSignature } from './thinking-signature.js';

/** What a provider accounts for, and this server does not. */
const NOT_METERED = { cache_creation: null, inference_geo: null, service_tier: null, speed: null };

type Block =
  | { type: 'text'; text: string; citations: null }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown; caller: { type: 'direct' } };

/** Turns the engine's events into a message of Anthropic's API, either complete or as a stream of events. */
export class MessageAnswer {
  readonly #head: { readonly id: string; readonly model: string };
  readonly #promptTokens: number;
  readonly #showsThinking: boolean;
  /** The thought of the open block. */
  #thought = '';
  readonly #content: Block[] = [];
  #isOpen = false;
  #finish: Finish | null = null;

  constructor(options: { id: string; model: string; promptTokens: number; showsThinking?: boolean }) {
    const { promptTokens, showsThinking = true, ...head } = options;
    this.#head = head;
    this.#promptTokens = promptTokens;
    this.#showsThinking = showsThinking;
  }

  /** The events that come before the engine's first one. */
  begin(): Frame[] {
    return [frame('message_start', { message: this.whole() })];
  }

  /** Takes an event of the engine; returns the events to send for it. */
  push(event: GenerateEvent): Frame[] {
    switch (event.type) {
      case 'token':
        return [];
      case 'text': {
        const frames = this.#ensure('text', { type: 'text', text: '', citations: null });
        (this.#content.at(-1) as { text: string }).text += event.text;
        return [...frames, this.#delta({ type: 'text_delta', text: event.text })];
      }
      case 'reasoning': {
        const frames = this.#ensure('thinking', { type: 'thinking', thinking: '', signature: '' });
        this.#thought += event.text;
        if (!this.#showsThinking) return frames;
        (this.#content.at(-1) as { thinking: string }).thinking += event.text;
        return [...frames, this.#delta({ type: 'thinking_delta', thinking: event.text })];
      }
      case 'tool-call': {
        const { id, name } = event;
        const frames = [
          ...this.#close(),
          ...this.#start({ type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } }),
        ];
        (this.#content.at(-1) as { input: unknown }).input = parseExactJson(event.argumentsJson);
        const delta = this.#delta({
          type: 'input_json_delta',
          partial_json: event.argumentsJson,
        });
        return [...frames, delta, ...this.#close()];
      }
      case 'finish': {
        const frames = this.#close();
        this.#finish = event;
        return [
          ...frames,
          frame('message_delta', { delta: { ...this.#stop(), container: null }, usage: this.#usage() }),
          frame('message_stop', {}),
        ];
      }
    }
  }

  /** The message so far. */
  whole(): object {
    return {
      ...this.#head,
      type: 'message',
      role: 'assistant',
      content: this.#content.map((block) => ({ ...block })),
      ...this.#stop(),
      container: null,
      diagnostics: null,
      usage: { ...this.#usage(), ...NOT_METERED },
    };
  }

  #ensure(type: Block['type'], block: Block): Frame[] {
    if (this.#isOpen && this.#content.at(-1)!.type === type) return [];
    return [...this.#close(), ...this.#start(block)];
  }

  #start(block: Block): Frame[] {
    this.#content.push(block);
    this.#isOpen = true;
    return [frame('content_block_start', { index: this.#content.length - 1, content_block: { ...block } })];
  }

  #delta(delta: object): Frame {
    return frame('content_block_delta', { index: this.#content.length - 1, delta });
  }

  #close(): Frame[] {
    if (!this.#isOpen) return [];
    this.#isOpen = false;
    return [...this.#sign(), frame('content_block_stop', { index: this.#content.length - 1 })];
  }

  #sign(): Frame[] {
    const block = this.#content.at(-1)!;
    if (block.type !== 'thinking') return [];
    block.signature = thinkingSignature(this.#thought, this.#showsThinking);
    this.#thought = '';
    return [this.#delta({ type: 'signature_delta', signature: block.signature })];
  }

  #stop(): { stop_reason: string | null; stop_sequence: string | null; stop_details: null } {
    const finish = this.#finish;
    if (!finish) return { stop_reason: null, stop_sequence: null, stop_details: null };
    if (finish.stop !== null)
      return { stop_reason: 'stop_sequence', stop_sequence: finish.stop, stop_details: null };
    const reasons = { stop: 'end_turn', length: 'max_tokens', 'tool-calls': 'tool_use' } as const;
    return { stop_reason: reasons[finish.reason], stop_sequence: null, stop_details: null };
  }

  /** `input_tokens` excludes the cached tokens, which are reported separately. */
  #usage(): object {
    const cached = this.#finish?.usage.cachedTokens ?? 0;
    return {
      input_tokens: this.#promptTokens - cached,
      output_tokens: this.#finish?.usage.completionTokens ?? 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cached,
      output_tokens_details: { thinking_tokens: this.#finish?.usage.reasoningTokens ?? 0 },
      server_tool_use: null,
    };
  }
}

function frame(type: string, fields: object): Frame {
  return { event: type, data: { type, ...fields } };
}
