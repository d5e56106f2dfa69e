import { parseExactJson } from '@markbase/text';
import { badParameter, RequestError } from '../errors/request-error.js';
import { plainBody } from './exact-value.js';

/** Maximum nesting depth of a body; schemas and tool arguments need less. */
const MAX_DEPTH = 200;

/**
 * Reads the JSON body of a request.
 *
 * @param limitBytes maximum length of the body
 * @throws RequestError: 415 for another content type (pages of other origins may send plain text without a preflight
 *   request), 413 for a body that is too long, 400 for invalid JSON
 */
export async function readJson(request: Request, limitBytes: number): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    const message = `Unsupported content type "${type}": send application/json`;
    throw new RequestError({ status: 415, message, apiCode: 'unsupported_content_type' });
  }
  const text = await readText(request, limitBytes);
  let body: unknown;
  try {
    body = parseExactJson(text);
  } catch (cause) {
    throw new RequestError({
      status: 400,
      message: 'The body is not valid JSON',
      apiCode: 'invalid_json',
      cause,
    });
  }
  if (isDeeper(body, MAX_DEPTH)) {
    throw badParameter(null, `The body is nested deeper than ${MAX_DEPTH} levels`, 'invalid_json');
  }
  return plainBody(body);
}

async function readText(request: Request, limitBytes: number): Promise<string> {
  if (Number(request.headers.get('content-length') ?? 0) > limitBytes) throw tooLarge(limitBytes);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    total += chunk.length;
    if (total > limitBytes) throw tooLarge(limitBytes);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new RequestError({
      status: 400,
      message: 'The body is not valid UTF-8',
      apiCode: 'invalid_json',
      cause,
    });
  }
}

function tooLarge(limitBytes: number): RequestError {
  const message = `The body is longer than ${limitBytes} bytes: send smaller media, or raise limits.bodyBytes`;
  return new RequestError({ status: 413, message, apiCode: 'body_too_large' });
}

function isDeeper(value: unknown, levels: number): boolean {
  const stack: [value: unknown, depth: number][] = [[value, 1]];
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const [item, depth] = entry;
    if (typeof item !== 'object' || item === null) continue;
    if (depth > levels) return true;
    for (const child of Object.values(item)) stack.push([child, depth + 1]);
  }
  return false;
}
