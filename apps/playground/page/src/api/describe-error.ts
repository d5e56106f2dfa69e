import { CONNECTION_BROKE, RequestError } from './request-error.js';

/** Describes an error and what to do about it, in sentences for the user. */
export function describeError(error: unknown): string {
  if (!(error instanceof RequestError)) {
    const text = error instanceof Error ? error.message : String(error);
    return `The page has a bug: ${sentence(text)} Reload the page; your conversation is kept.`;
  }
  const said = sentence(error.message);
  if (error.code === CONNECTION_BROKE) {
    return 'The server ended in the middle of the answer. What arrived is kept: start `markbase playground` again, then continue the answer.';
  }
  if (error.status === 0) {
    return 'The server is not responding. Check that `markbase playground` is still running, then send again.';
  }
  if (error.code === 'context_length_exceeded') {
    return `${said} Choose below what to do with this conversation, or start a new chat.`;
  }
  switch (error.status) {
    case 401:
      return 'The server requires an API key. Enter it under Settings, then send again.';
    case 403:
      return `${said} Open the page at the address printed by the server.`;
    case 404:
      return `${said} Load a model in the Model panel.`;
    case 413:
      return 'The message is too large for the server. Send fewer or smaller files.';
    case 429:
    case 503:
      return `The server is busy. Send again ${wait(error.retryAfterSeconds)}.`;
    default:
      return error.status >= 500
        ? `The server failed: ${said} Send again; if that fails too, see the output of the server.`
        : said;
  }
}

function wait(seconds: number | null): string {
  if (seconds === null) return 'in a moment';
  return seconds === 1 ? 'in a second' : `in ${seconds} seconds`;
}

function sentence(text: string): string {
  const trimmed = text.trim() || 'It gave no reason';
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
