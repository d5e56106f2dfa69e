import { requestErrorOf } from '../errors/request-error-of.js';
import type { StreamStyle } from '../http/answer-response.js';

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

/** An error in the format of Anthropic's API, which has no field for the parameter: the message names it. */
export function anthropicError(error: unknown, requestId: string | null = null): object {
  const { status, message } = requestErrorOf(error);
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { type, message }, ...(requestId !== null && { request_id: requestId }) };
}

/** Streams of Anthropic's API: named events, with pings to keep the connection alive. */
export const ANTHROPIC_STREAM: StreamStyle = {
  keepAlive: 'event: ping\ndata: {"type": "ping"}\n\n',
  errorFrame: (error) => ({ event: 'error', data: anthropicError(error) }),
};
