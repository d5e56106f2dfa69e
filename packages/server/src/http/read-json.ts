import { RequestError } from '../errors/request-error.js';
import type { ServerLimits } from '../server-options.js';
import { JsonShape } from './json-shape.js';
import { parseBody } from './parse-body.js';
import { type ReadBytesOptions, readBytes } from './read-bytes.js';

/** Maximum nesting depth of a body; schemas and tool arguments need less. */
const MAX_DEPTH = 200;

/** Options of `readJson`. */
export interface ReadJsonOptions extends ReadBytesOptions {
  readonly limits: ReadBytesOptions['limits'] & Pick<ServerLimits, 'textBytes' | 'bodyValues'>;
}

/**
 * Reads the JSON body of a request. Its size, depth and number of values are checked while it arrives, before it is
 * parsed.
 *
 * @throws RequestError: 415 for another content type (pages of other origins may send plain text without a preflight
 *   request), 413 for a body that is too large or has too many values, 408 for one that takes too long, 429 while other
 *   bodies use all of the memory budget, 400 for invalid JSON
 */
export async function readJson(request: Request, options: ReadJsonOptions): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    const message = `Unsupported content type "${type}": send application/json`;
    throw new RequestError({ status: 415, message, apiCode: 'unsupported_content_type' });
  }
  const { limits } = options;
  const shape = new JsonShape({ depth: MAX_DEPTH, values: limits.bodyValues });
  const bytes = await readBytes(request, options, (chunk) => {
    const excess = shape.push(chunk);
    if (excess === 'depth') throw tooDeep();
    if (excess === 'values') throw tooMany(limits);
  });
  return parseBody(bytes, shape.longStrings, limits.textBytes);
}

function tooMany({ bodyValues }: Pick<ServerLimits, 'bodyValues'>): RequestError {
  const message = `The body has more than ${bodyValues} values: send less, or raise limits.bodyValues`;
  return new RequestError({ status: 413, message, apiCode: 'body_too_large', closesConnection: true });
}

function tooDeep(): RequestError {
  const message = `The body is nested deeper than ${MAX_DEPTH} levels`;
  return new RequestError({ status: 400, message, apiCode: 'invalid_json', closesConnection: true });
}
