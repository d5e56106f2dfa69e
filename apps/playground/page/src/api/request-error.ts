/** A request that the server refused, or that never reached it. */
export class RequestError extends Error {
  /** HTTP status; 0 = no answer. */
  readonly status: number;
  /** The server's name for the fault; null = none. */
  readonly code: string | null;
  /** Seconds after which the server wants to be asked again; null = it did not say. */
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

/** The fields of an error body in OpenAI's form; of anything else, its text. */
export function errorOf(text: string): { message: string; code: string | null } {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown; code?: unknown } };
    if (typeof error?.message === 'string') {
      return { message: error.message, code: typeof error.code === 'string' ? error.code : null };
    }
  } catch {
    // Not JSON: the text itself is all there is.
  }
  return { message: text.slice(0, 500), code: null };
}
