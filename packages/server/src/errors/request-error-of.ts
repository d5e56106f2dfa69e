import { type ContextLengthError, hasErrorCode, type InvalidArgumentError } from '@markbase/core';
import { RequestError } from './request-error.js';

/** Engine options that have another name in the APIs. */
const PARAMETERS: Readonly<Record<string, string>> = {
  stop: 'stop',
  messages: 'messages',
  tools: 'tools',
  prompt: 'prompt',
  options: 'messages',
};

/** The error that a client sees. Internal errors lose their details here; those go to the log. */
export function requestErrorOf(error: unknown): RequestError {
  if (hasErrorCode(error, 'REQUEST')) return error as RequestError;
  if (hasErrorCode(error, 'INVALID_ARGUMENT')) return invalidArgument(error as InvalidArgumentError);
  if (hasErrorCode(error, 'CONTEXT_LENGTH')) {
    const { message } = error as ContextLengthError;
    return refusal(400, message, { param: 'messages', apiCode: 'context_length_exceeded', cause: error });
  }
  if (hasErrorCode(error, 'CHAT_TEMPLATE'))
    return refusal(400, error.message, { param: 'messages', cause: error });
  if (hasErrorCode(error, 'OUT_OF_MEMORY')) {
    const message = 'The server is out of memory for this request: try again later';
    return refusal(503, message, { apiCode: 'out_of_memory', retryAfterSeconds: 5, cause: error });
  }
  if (hasErrorCode(error, 'DISPOSED')) {
    const message = 'The model was unloaded: try again later';
    return refusal(503, message, { apiCode: 'model_unloaded', retryAfterSeconds: 5, cause: error });
  }
  if (error instanceof RangeError && /call stack/i.test(error.message)) {
    return refusal(400, 'The request is nested too deeply', { cause: error });
  }
  return refusal(500, 'The server failed to answer this request', {
    apiCode: 'internal_error',
    cause: error,
  });
}

function invalidArgument(error: InvalidArgumentError): RequestError {
  const [, name = '', path = ''] = /^([A-Za-z]*)(.*)$/s.exec(error.argument) ?? [];
  const param = `${PARAMETERS[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}${path}`;
  return refusal(400, error.message, { param, cause: error });
}

function refusal(
  status: number,
  message: string,
  fields: Omit<ConstructorParameters<typeof RequestError>[0], 'status' | 'message'>,
): RequestError {
  return new RequestError({ status, message, ...fields });
}
