/** Code of an error that ended an answer which had begun. */
export const CONNECTION_BROKE = 'connection_broke';

/** A request that the server refused or that did not reach it. */
export class RequestError extends Error {
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The server's error code, or null. */
  readonly code: string | null;
  /** Seconds after which to retry; null if the server did not say. */
  readonly retryAfterSeconds: number | null;

  constructor(message: string, fields: { status: number; code?: string | null; retryAfter?: string | null }) {
    super(message);
    this.name = 'RequestError';
    this.status = fields.status;
    this.code = fields.code ?? null;
    const seconds = Number(fields.retryAfter ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(seconds) ? seconds : null;
  }
}

/** The fields of an error body in OpenAI's format; for any other body, its text. */
export function errorOf(text: string): { message: string; code: string | null } {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown; code?: unknown } };
    if (typeof error?.message === 'string') {
      return { message: error.message, code: typeof error.code === 'string' ? error.code : null };
    }
  } catch {
    // Not JSON: use the text.
  }
  return { message: text.slice(0, 500), code: null };
}
