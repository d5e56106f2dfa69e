import { hasErrorCode, MarkBaseError } from '@markbase/core';
import { badParameter } from '../errors/request-error.js';

/** Errors that are caused by the medium itself. */
const MEDIUM_ERROR_CODES = [
  'INVALID_ARGUMENT',
  'CORRUPT_FILE',
  'UNSUPPORTED_MEDIA',
  'UNSUPPORTED_MODEL',
  'LIMIT_EXCEEDED',
  'CONTEXT_LENGTH',
];

/** The status 400 that names the parameter of a medium, for an error that the medium caused; other errors unchanged. */
export function mediumError(
  error: unknown,
  { what, param }: { readonly what: string; readonly param: string },
): unknown {
  if (!MarkBaseError.isInstance(error) || !MEDIUM_ERROR_CODES.some((code) => hasErrorCode(error, code)))
    return error;
  const code = hasErrorCode(error, 'CONTEXT_LENGTH') ? 'context_length_exceeded' : 'invalid_media';
  return badParameter(param, `The ${what} cannot be used: ${error.message}`, code);
}
