import type { Finish, GenerateEvent, Tokenizer } from '@markbase/text';
import { type TokenLogprob, tokenLogprob } from '../chat/chat-logprobs.js';
import { requestErrorOf } from '../errors/request-error-of.js';
import type { Frame } from '../http/event-stream.js';
import type { ResponseRequest } from './response-request.js';

type Item = Record<string, unknown> & { id: string; type: string };

/** Options of `ResponseAnswer`. */
export interface ResponseAnswerOptions {
  readonly id: string;
  readonly createdAt: number;
  readonly model: string;
  readonly request: ResponseRequest;
  readonly promptTokens: number;
  readonly tokenizer: Tokenizer;
  readonly newId: (prefix: string) => string;
}

/** Turns the engine's events into a response: an object that grows, and the events that describe its growth. */
export class ResponseAnswer {
  readonly #options: ResponseAnswerOptions;
  readonly #output: Item[] = [];
  #sequenceNumber = 0;
  /** The item that text or reasoning is currently added to. */
  #open: { item: Item; kind: 'text' | 'reasoning'; text: string; logprobs: TokenLogprob[] } | null = null;
  #pending: TokenLogprob[] = [];
  #finish: Finish | null = null;

  constructor(options: ResponseAnswerOptions) {
    this.#options = options;
  }

  /** The events that come before the engine's first one. */
  begin(): Frame[] {
    return [
      this.#frame('response.created', { response: this.#snapshot('in_progress') }),
      this.#frame('response.in_progress', { response: this.#snapshot('in_progress') }),
    ];
  }

  /** Takes an event of the engine; returns the events to send for it. */
  push(event: GenerateEvent): Frame[] {
    switch (event.type) {
      case 'token':
        if (event.part === 'text') this.#pending.push(tokenLogprob(this.#options.tokenizer, event));
        return [];
      case 'text':
      case 'reasoning':
        return this.#addText(event.type, event.text);
      case 'tool-call':
        return [...this.#close(), ...this.#addCall(event.id, event.name, event.argumentsJson)];
      case 'finish': {
        const frames = this.#close(event.reason === 'length' ? 'incomplete' : 'completed');
        this.#finish = event;
        const status = this.#status;
        return [...frames, this.#frame(`response.${status}`, { response: this.#snapshot(status) })];
      }
    }
  }

  /** The response after the answer has ended. */
  whole(): object {
    return this.#snapshot(this.#status);
  }

  /** The last event of an answer that failed. */
  fail(error: unknown): Frame {
    const { apiCode, message } = requestErrorOf(error);
    const failure = { code: apiCode ?? 'server_error', message };
    return this.#frame('response.failed', { response: { ...this.#snapshot('failed'), error: failure } });
  }

  get #status(): 'completed' | 'incomplete' {
    return this.#finish?.reason === 'length' ? 'incomplete' : 'completed';
  }

  #addText(kind: 'text' | 'reasoning', text: string): Frame[] {
    const frames = this.#open?.kind === kind ? [] : [...this.#close(), ...this.#openItem(kind)];
    const open = this.#open!;
    open.text += text;
    const logprobs = kind === 'text' ? this.#pending : [];
    if (kind === 'text') this.#pending = [];
    open.logprobs.push(...logprobs);
    const type = kind === 'text' ? 'response.output_text.delta' : 'response.reasoning_text.delta';
    frames.push(this.#frame(type, { ...this.#place(), delta: text, ...(kind === 'text' && { logprobs }) }));
    return frames;
  }

  #openItem(kind: 'text' | 'reasoning'): Frame[] {
    const item: Item =
      kind === 'text'
        ? {
            id: this.#options.newId('msg_'),
            type: 'message',
            role: 'assistant',
            status: 'in_progress',
            content: [],
          }
        : {
            id: this.#options.newId('rs_'),
            type: 'reasoning',
            status: 'in_progress',
            summary: [],
            content: [],
          };
    this.#output.push(item);
    this.#open = { item, kind, text: '', logprobs: [] };
    return [
      this.#frame('response.output_item.added', { output_index: this.#output.length - 1, item: { ...item } }),
      this.#frame('response.content_part.added', { ...this.#place(), part: this.#part() }),
    ];
  }

  #close(status: 'completed' | 'incomplete' = 'completed'): Frame[] {
    const open = this.#open;
    if (!open) return [];
    const place = this.#place();
    const part = this.#part();
    const type = open.kind === 'text' ? 'response.output_text.done' : 'response.reasoning_text.done';
    const logprobs = open.kind === 'text' && { logprobs: open.logprobs };
    Object.assign(open.item, { status, content: [part] });
    this.#open = null;
    return [
      this.#frame(type, { ...place, text: open.text, ...logprobs }),
      this.#frame('response.content_part.done', { ...place, part }),
      this.#frame('response.output_item.done', { output_index: place.output_index, item: open.item }),
    ];
  }

  #addCall(callId: string, name: string, callArguments: string): Frame[] {
    const item: Item = {
      id: this.#options.newId('fc_'),
      type: 'function_call',
      call_id: callId,
      name,
      arguments: '',
    };
    const done = { ...item, arguments: callArguments, status: 'completed' };
    this.#output.push(done);
    const place = { item_id: item.id, output_index: this.#output.length - 1 };
    const { output_index } = place;
    return [
      this.#frame('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } }),
      this.#frame('response.function_call_arguments.delta', { ...place, delta: callArguments }),
      this.#frame('response.function_call_arguments.done', { ...place, name, arguments: callArguments }),
      this.#frame('response.output_item.done', { output_index, item: done }),
    ];
  }

  #place(): { item_id: string; output_index: number; content_index: number } {
    return { item_id: this.#open!.item.id, output_index: this.#output.length - 1, content_index: 0 };
  }

  #part(): object {
    const { kind, text, logprobs } = this.#open!;
    return kind === 'text'
      ? { type: 'output_text', text, annotations: [], logprobs: [...logprobs] }
      : { type: 'reasoning_text', text };
  }

  #frame(type: string, fields: object): Frame {
    return { event: type, data: { type, sequence_number: this.#sequenceNumber++, ...fields } };
  }

  #snapshot(status: 'in_progress' | 'completed' | 'incomplete' | 'failed'): object {
    const { id, createdAt, model, request } = this.#options;
    return {
      id,
      object: 'response',
      created_at: createdAt,
      status,
      background: false,
      error: null,
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      instructions: request.instructions ?? null,
      max_output_tokens: request.max_output_tokens ?? null,
      metadata: request.metadata ?? {},
      model,
      output: this.#output.map((item) => ({ ...item })),
      parallel_tool_calls: request.parallel_tool_calls ?? true,
      previous_response_id: null,
      reasoning: { effort: request.reasoning?.effort ?? null, summary: null },
      service_tier: 'default',
      store: false,
      temperature: request.temperature ?? null,
      text: {
        format: request.text?.format ?? { type: 'text' },
        verbosity: request.text?.verbosity ?? 'medium',
      },
      tool_choice: request.tool_choice ?? 'auto',
      tools: (request.tools ?? []).filter((tool) => tool !== null),
      top_logprobs: request.top_logprobs ?? 0,
      top_p: request.top_p ?? null,
      truncation: 'disabled',
      ...(this.#finish && { usage: this.#usage(this.#finish) }),
      ...(request.user && { user: request.user }),
    };
  }

  #usage({ usage }: Finish): object {
    return {
      input_tokens: this.#options.promptTokens,
      input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: 0 },
      output_tokens: usage.completionTokens,
      output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
      total_tokens: this.#options.promptTokens + usage.completionTokens,
    };
  }
}
