import { MarkBaseError } from '@markbase/core';

/** Why the server refuses a request: the HTTP status and the fields of the APIs' error objects. */
export class RequestError extends MarkBaseError {
  readonly code = 'REQUEST';
  /** HTTP status, 400 to 599. */
  readonly status: number;
  /** Kind of error in OpenAI's terms, such as `invalid_request_error`. */
  readonly type: string;
  /** The offending parameter, in the client's spelling. */
  readonly param: string | null;
  /** Stable identifier, such as `model_not_found`. */
  readonly apiCode: string | null;
  /** Value of the header Retry-After; null = none. */
  readonly retryAfterSeconds: number | null;
  /** The body was not read to its end, so the connection cannot serve another request. */
  readonly closesConnection: boolean;

  constructor(fields: {
    status: number;
    message: string;
    type?: string;
    param?: string | null;
    apiCode?: string | null;
    retryAfterSeconds?: number;
    closesConnection?: boolean;
    cause?: unknown;
  }) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.status = fields.status;
    this.type = fields.type ?? (fields.status < 500 ? 'invalid_request_error' : 'server_error');
    this.param = fields.param ?? null;
    this.apiCode = fields.apiCode ?? null;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
    this.closesConnection = fields.closesConnection ?? false;
  }
}

/** A missing, invalid or unsupported parameter: status 400. */
export function badParameter(
  param: string | null,
  message: string,
  apiCode: string | null = null,
  cause?: unknown,
): RequestError {
  return new RequestError({ status: 400, message, param, apiCode, cause });
}
