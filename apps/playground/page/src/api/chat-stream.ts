import { request } from './request.js';
import { CONNECTION_BROKE, errorOf, RequestError } from './request-error.js';
import { serverSentEvents } from './server-sent-events.js';

/** An event while the model answers. */
export type ChatEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** A piece of a tool call; the first piece of each index has id and name. */
  | {
      readonly type: 'tool';
      readonly index: number;
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | { readonly type: 'finish'; readonly reason: string }
  | {
      readonly type: 'usage';
      readonly promptTokens: number;
      readonly cachedTokens: number;
      readonly completionTokens: number;
      /** Measured by the server; null if it does not say. */
      readonly timings: { readonly firstTokenMs: number; readonly totalMs: number } | null;
    };

/** The fields of a chunk that the page uses. */
interface Chunk {
  readonly error?: unknown;
  readonly choices?: readonly {
    readonly finish_reason?: string | null;
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  } | null;
  readonly timings?: { readonly first_token_ms: number; readonly total_ms: number };
}

/**
 * Requests a streamed answer from `/v1/chat/completions`.
 *
 * @param body the request; `stream` and `stream_options` are added
 * @throws RequestError if the server refuses or fails during the answer; the signal's reason when aborted
 */
export async function* chatStream(
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  const response = await request('/v1/chat/completions', {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
  });
  let isComplete = false;
  for await (const { data } of eventsOf(response, signal)) {
    if (data === '[DONE]') {
      isComplete = true;
      continue;
    }
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error !== undefined) {
      const { message, code } = errorOf(data);
      throw new RequestError(message, { status: 500, code });
    }
    yield* chunkEvents(chunk);
  }
  signal.throwIfAborted();
  if (!isComplete) throw brokenConnection();
}

async function* eventsOf(response: Response, signal: AbortSignal) {
  try {
    yield* serverSentEvents(response.body!);
  } catch {
    signal.throwIfAborted();
    throw brokenConnection();
  }
}

function brokenConnection(): RequestError {
  return new RequestError('the connection ended in the middle of the answer', {
    status: 0,
    code: CONNECTION_BROKE,
  });
}

function* chunkEvents({ choices = [], usage, timings }: Chunk): Generator<ChatEvent> {
  for (const { delta = {}, finish_reason: reason } of choices) {
    if (delta.reasoning_content) yield { type: 'reasoning', text: delta.reasoning_content };
    if (delta.content) yield { type: 'text', text: delta.content };
    for (const { index, id = '', function: call = {} } of delta.tool_calls ?? []) {
      yield { type: 'tool', index, id, name: call.name ?? '', arguments: call.arguments ?? '' };
    }
    if (reason) yield { type: 'finish', reason };
  }
  if (!usage) return;
  yield {
    type: 'usage',
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    completionTokens: usage.completion_tokens,
    timings: timings ? { firstTokenMs: timings.first_token_ms, totalMs: timings.total_ms } : null,
  };
}
