import { stringifyExactJson } from '@markbase/text';
import type { Opening } from '../answering/answer-runner.js';
import { requestErrorOf } from '../errors/request-error-of.js';
import type { ServerLimits } from '../server-options.js';
import { byteStream, eventStream, type Frame } from './event-stream.js';

/** Options of `streamResponse` and `jsonResponse`. */
export interface AnswerResponseOptions {
  readonly limits: Pick<ServerLimits, 'keepAliveMs' | 'headersAfterMs' | 'stallMs' | 'stallBusyMs'>;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when the answer should end. */
  readonly signal: AbortSignal;
  /** True while other requests wait for a slot. */
  readonly isContended: () => boolean;
  /** Stops the engine. */
  readonly abort: () => void;
  /** Formats an error for the API. */
  readonly errorBody: (error: unknown) => object;
  /** Called with an error that occurs after the status was sent. */
  readonly onLateError: (error: unknown) => void;
}

/** How one of the APIs formats its streams. */
export interface StreamStyle {
  /** Sent while there is nothing else to send. */
  readonly keepAlive: string;
  errorFrame(error: unknown): Frame;
}

/**
 * Answers with a stream of events. An error before the headers are sent sets the status. The headers go out as soon as
 * the request is known to be valid, or when its media are fetched and checking it takes too long; after that, an error
 * becomes the last event.
 *
 * @param opening the request while it waits for its turn and is checked
 */
export async function streamResponse<Answer>(
  { fetched, answer }: Opening<Answer>,
  frames: (answer: Answer) => AsyncGenerator<Frame, void, void>,
  style: StreamStyle,
  options: AnswerResponseOptions,
): Promise<Response> {
  await fetched;
  await settledWithin(answer, options.limits.headersAfterMs);
  const source = async function* () {
    try {
      yield* frames(await answer);
    } catch (error) {
      options.onLateError(error);
      throw error;
    }
  };
  const { limits, signal, isContended } = options;
  const body = eventStream(source(), {
    ...limits,
    signal,
    isContended,
    ...style,
    errorFrame: (error) => style.errorFrame(error),
    onLeave: options.abort,
  });
  const headers = {
    ...options.headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Keeps proxies such as nginx from buffering the events.
    'x-accel-buffering': 'no',
  };
  return new Response(body, { headers });
}

/**
 * Answers with one JSON object. Nothing is sent before the request has passed its checks, so that their errors have a
 * status. If the answer takes longer than clients wait for headers, these are sent first and white space keeps the
 * connection alive. An error after that is sent as the body, and the connection breaks: the status said success.
 */
export async function jsonResponse<Answer>(
  { answer }: Pick<Opening<Answer>, 'answer'>,
  whole: (answer: Answer) => Promise<object>,
  options: AnswerResponseOptions,
): Promise<Response> {
  const { limits, headers, abort, onLateError, errorBody, signal, isContended } = options;
  const answering = whole(await answer);
  await settledWithin(answering, limits.keepAliveMs);
  const source = async function* () {
    try {
      yield stringifyExactJson(await answering);
    } catch (error) {
      onLateError(error);
      yield JSON.stringify(errorBody(error));
      throw error;
    }
  };
  const body = byteStream(source(), { ...limits, keepAlive: ' ', onLeave: abort, signal, isContended });
  return new Response(body, { headers: { ...headers, 'content-type': 'application/json' } });
}

/** Waits for the work, at most this long. @throws the error of the work, if it fails in that time */
async function settledWithin(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const waiting = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  try {
    await Promise.race([work, waiting]);
  } finally {
    clearTimeout(timer);
    // A later failure is reported by whoever awaits the work.
    work.catch(() => {});
  }
}

/** An error in the format of OpenAI's APIs. */
export function openAiError(error: unknown): object {
  const { message, type, param, apiCode } = requestErrorOf(error);
  return { error: { message, type, param, code: apiCode } };
}

/** Streams of OpenAI's older APIs: events without names. */
export const OPENAI_STREAM: StreamStyle = {
  keepAlive: ': keep-alive\n\n',
  errorFrame: (error) => ({ data: openAiError(error) }),
};
