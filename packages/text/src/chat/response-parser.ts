import { createTextDecoder, type Tokenizer, type TokenTextDecoder } from '../tokenizer/index.js';
import { ReasoningText } from './reasoning-text.js';
import { readToolCall } from './tool-call-syntax.js';
import { QUOTE, QUOTE_MARK } from './tool-value-reader.js';

/** Maximum length of a tool call; a longer one is reported as text. */
const MAX_CALL_CHARACTERS = 1 << 20;

/** Number of characters of an unreadable call that a warning shows. */
const SHOWN_CALL_CHARACTERS = 80;

/** A piece of the model's answer. */
export type ResponseEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | {
      readonly type: 'tool-call';
      /** Name of the tool. */
      readonly name: string;
      /** The arguments; numbers may be rounded. */
      readonly arguments: Record<string, unknown>;
      /** The arguments as JSON, with every digit that the model wrote. */
      readonly argumentsJson: string;
      /** The call as the model wrote it. */
      readonly raw: string;
    };

type Action = 'open-channel' | 'close-channel' | 'open-call' | 'close-call' | 'end' | 'quote';

/** What control tokens do. Tokens that the vocabulary lacks are skipped. */
const ACTIONS: readonly (readonly [string, Action])[] = [
  ['<|channel>', 'open-channel'],
  ['<channel|>', 'close-channel'],
  ['<|tool_call>', 'open-call'],
  ['<tool_call|>', 'close-call'],
  ['<|tool_response>', 'end'],
  ['<turn|>', 'end'],
  ['<eos>', 'end'],
  [QUOTE, 'quote'],
];

/**
 * Splits a model's output, token by token, into text, reasoning and tool calls. Control tokens are recognised by id, so
 * text that only looks like one stays text. No output can make the parser throw or stall.
 */
export class ResponseParser {
  /** The first characters of each call that became text because it was unreadable or cut off. */
  readonly unreadableCalls: string[] = [];
  readonly #tokenizer: Tokenizer;
  readonly #actionOfId: ReadonlyMap<number, Action>;
  readonly #decoder: TokenTextDecoder;
  #state: 'text' | 'reasoning' | 'call' | 'ended' = 'text';
  #reasoning: ReasoningText;
  #call = '';
  // White space between two calls is not part of the answer.
  #isAfterCall = false;

  /** @param options.isReasoningOpen true if the prompt ends inside an open thought (`EncodedChat`) */
  constructor(tokenizer: Tokenizer, options: { isReasoningOpen?: boolean } = {}) {
    this.#tokenizer = tokenizer;
    this.#decoder = createTextDecoder(tokenizer);
    const known = ACTIONS.map(([text, action]) => [tokenizer.idOf(text), action] as const);
    this.#actionOfId = new Map(known.filter((entry): entry is [number, Action] => entry[0] !== null));
    this.#reasoning = new ReasoningText(false);
    if (options.isReasoningOpen) this.#state = 'reasoning';
  }

  /** True once the model has ended its turn; further tokens are ignored. */
  get isEnded(): boolean {
    return this.#state === 'ended';
  }

  /** The part of the answer that the next text token belongs to. */
  get part(): 'text' | 'reasoning' | 'tool-call' | 'control' {
    if (this.#state === 'ended') return 'control';
    return this.#state === 'call' ? 'tool-call' : this.#state;
  }

  /** Adds a token; returns the events that are certain by now. */
  push(id: number): ResponseEvent[] {
    if (this.#state === 'ended') return [];
    const action = this.#actionOfId.get(id);
    if (action === undefined && !this.#tokenizer.isSpecial(id)) return this.#addText(this.#decoder.push(id));
    const events = this.#addText(this.#decoder.flush());
    if (action !== undefined) events.push(...this.#act(action));
    return events;
  }

  /** Ends the output at any point. A tool call that was cut off is reported as text, never as a call. */
  finish(): ResponseEvent[] {
    const events = this.#addText(this.#decoder.flush());
    events.push(...this.#leave(false));
    this.#state = 'ended';
    return events;
  }

  #act(action: Action): ResponseEvent[] {
    switch (action) {
      case 'quote':
        return this.#addText(this.#state === 'call' ? QUOTE_MARK : '"');
      case 'close-channel':
      case 'close-call': {
        // A closing token that does not match the state is ignored.
        const closes = action === 'close-call' ? this.#state === 'call' : this.#state === 'reasoning';
        return closes ? this.#leave(true) : [];
      }
      case 'open-channel': {
        const events = this.#leave(true);
        this.#state = 'reasoning';
        this.#reasoning = new ReasoningText(true);
        return events;
      }
      case 'open-call': {
        const events = this.#leave(true);
        this.#state = 'call';
        return events;
      }
      case 'end': {
        const events = this.#leave(true);
        this.#state = 'ended';
        return events;
      }
    }
  }

  /** Returns from a channel or a call to plain text. */
  #leave(mayRepair: boolean): ResponseEvent[] {
    const state = this.#state;
    this.#state = 'text';
    if (state === 'reasoning') return textEvents('reasoning', this.#reasoning.finish());
    if (state !== 'call') return [];
    const call = readToolCall(this.#call);
    if (call === null || (call.isRepaired && !mayRepair)) return this.#giveUpCall();
    const raw = this.#rawCall();
    const { name, arguments: values, argumentsJson } = call;
    this.#isAfterCall = true;
    return [{ type: 'tool-call', name, arguments: values, argumentsJson, raw }];
  }

  /** An unreadable call becomes text and a warning. */
  #giveUpCall(): ResponseEvent[] {
    const raw = this.#rawCall();
    this.unreadableCalls.push(raw.slice(0, SHOWN_CALL_CHARACTERS));
    return textEvents('text', raw);
  }

  /** Returns the call as the model wrote it, and resets it. */
  #rawCall(): string {
    const raw = this.#call.replaceAll(QUOTE_MARK, QUOTE);
    this.#call = '';
    return raw;
  }

  #addText(text: string): ResponseEvent[] {
    if (text === '') return [];
    if (this.#state === 'reasoning') return textEvents('reasoning', this.#reasoning.push(text));
    if (this.#state === 'call') {
      this.#call += text;
      if (this.#call.length <= MAX_CALL_CHARACTERS) return [];
      this.#state = 'text';
      return this.#giveUpCall();
    }
    const shown = this.#isAfterCall ? text.trimStart() : text;
    if (shown !== '') this.#isAfterCall = false;
    return textEvents('text', shown);
  }
}

function textEvents(type: 'text' | 'reasoning', text: string): ResponseEvent[] {
  return text === '' ? [] : [{ type, text }];
}
