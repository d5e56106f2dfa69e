const MARK = Symbol.for('markbase.error');

/** Root of every error that a MarkBase package throws: a stable `code`, data fields, and a message built from them. */
export abstract class MarkBaseError extends Error {
  /** Stable identifier, safe to compare and to log. */
  abstract readonly code: string;

  protected constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    Object.defineProperty(this, MARK, { value: true });
  }

  /** True for errors of this family, even if they come from another copy of the package. */
  static isInstance(error: unknown): error is MarkBaseError {
    return typeof error === 'object' && error !== null && MARK in error;
  }
}

/** True when `error` is the MarkBase error with this `code`; works across copies of the package. */
export function hasErrorCode(error: unknown, code: string): error is MarkBaseError {
  return MarkBaseError.isInstance(error) && error.code === code;
}
