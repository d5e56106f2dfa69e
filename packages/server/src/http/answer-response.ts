import type { RunningAnswer } from '../answering/answer-runner.js';
import { requestErrorOf } from '../errors/request-error-of.js';
import type { ServerLimits } from '../server-options.js';
import { byteStream, eventStream, type Frame } from './event-stream.js';

/** How one request is answered. */
export interface AnswerResponseOptions {
  readonly limits: Pick<ServerLimits, 'keepAliveMs' | 'headersAfterMs' | 'stallMs'>;
  readonly headers: Readonly<Record<string, string>>;
  /** Stops the engine. */
  readonly abort: () => void;
  /** Told about an error that came when the status had been sent already. */
  readonly onLateError: (error: unknown) => void;
}

/** What a stream looks like in one of the APIs. */
export interface StreamStyle {
  /** Sent in silence. */
  readonly keepAlive: string;
  errorFrame(error: unknown): Frame;
}

/**
 * Answers with a stream of events. Errors of the request have their status; once the headers are out, because the request is
 * valid or because checking it takes long, an error is one last event.
 *
 * @param opening the request while it waits for its turn and is checked
 */
export async function streamResponse(
  opening: Promise<RunningAnswer>,
  frames: (answer: RunningAnswer) => AsyncGenerator<Frame, void, void>,
  style: StreamStyle,
  options: AnswerResponseOptions,
): Promise<Response> {
  await settledWithin(opening, options.limits.headersAfterMs);
  const source = async function* () {
    try {
      yield* frames(await opening);
    } catch (error) {
      options.onLateError(error);
      throw error;
    }
  };
  const body = eventStream(source(), {
    ...options.limits,
    ...style,
    errorFrame: (error) => style.errorFrame(error),
    onLeave: options.abort,
  });
  const headers = {
    ...options.headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Proxies such as nginx would collect the events.
    'x-accel-buffering': 'no',
  };
  return new Response(body, { headers });
}

/**
 * Answers with one JSON object. When it takes longer than clients wait for headers, these go out first, and white space keeps
 * the connection alive; an error then breaks the connection, because the status has been sent.
 */
export async function jsonResponse(
  opening: Promise<RunningAnswer>,
  whole: (answer: RunningAnswer) => Promise<object>,
  options: AnswerResponseOptions,
): Promise<Response> {
  const { limits, headers, abort, onLateError } = options;
  const answering = opening.then(whole);
  await settledWithin(answering, limits.keepAliveMs);
  const source = async function* () {
    try {
      yield JSON.stringify(await answering);
    } catch (error) {
      onLateError(error);
      throw error;
    }
  };
  const body = byteStream(source(), { ...limits, keepAlive: ' ', onLeave: abort });
  return new Response(body, { headers: { ...headers, 'content-type': 'application/json' } });
}

/** Waits until the work is done, but not longer than that. @throws the error of the work, where it fails in time */
async function settledWithin(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const waiting = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  try {
    await Promise.race([work, waiting]);
  } finally {
    clearTimeout(timer);
    // Its error is reported by who reads it later.
    work.catch(() => {});
  }
}

/** An error as OpenAI's APIs write it. */
export function openAiError(error: unknown): object {
  const { message, type, param, apiCode } = requestErrorOf(error);
  return { error: { message, type, param, code: apiCode } };
}

/** Streams of OpenAI's older APIs: events without names. */
export const OPENAI_STREAM: StreamStyle = {
  keepAlive: ': keep-alive\n\n',
  errorFrame: (error) => ({ data: openAiError(error) }),
};
