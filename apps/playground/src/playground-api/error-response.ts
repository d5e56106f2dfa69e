import { MarkBaseError } from '@markbase/core';
import { RequestError } from '@markbase/server';
import { isAbort, reasonForUser } from '../errors.js';

/** An error in the format of the APIs. */
export interface ErrorBody {
  readonly error: { readonly message: string; readonly type: string; readonly code: string | null };
}

/** Status and body for an error. An internal error is a 500 with its message, because this server is the user's own. */
export function errorResponseOf(error: unknown): { readonly status: number; readonly body: ErrorBody } {
  if (error instanceof RequestError) {
    const { status, message, type, apiCode: code } = error;
    return { status, body: { error: { message, type, code } } };
  }
  const isKnown = MarkBaseError.isInstance(error);
  const code = isKnown ? error.code.toLowerCase() : isAbort(error) ? 'cancelled' : null;
  const status = code === 'load_in_progress' ? 409 : isKnown || reasonForUser(error) !== null ? 400 : 500;
  const message = reasonForUser(error) ?? (error instanceof Error ? error.message : String(error));
  return { status, body: { error: { message, type: 'invalid_request_error', code } } };
}
