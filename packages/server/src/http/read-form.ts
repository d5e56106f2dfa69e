import type { Blob } from 'node:buffer';
import { badParameter, RequestError } from '../errors/request-error.js';
import type { ServerLimits } from '../server-options.js';
import { type ReadBytesOptions, readBytes } from './read-bytes.js';

/** Maximum number of fields; no request needs more. */
const MAX_FIELDS = 64;

/** Options of `readForm`. */
export interface ReadFormOptions extends ReadBytesOptions {
  readonly limits: ReadBytesOptions['limits'] & Pick<ServerLimits, 'textBytes' | 'mediaBytes'>;
}

/** The fields of a form. */
export interface Form {
  /** Texts by name. A name that ends with `[]` is a list, without the brackets. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
  readonly files: Readonly<Record<string, Uint8Array>>;
}

/**
 * Reads a body of type `multipart/form-data`. Its parts are counted before it is parsed.
 *
 * @throws RequestError: 415 for another content type; 413 for a body, a file or text that is too large; 400 for an invalid
 *   form; the errors of `readBytes`
 */
export async function readForm(request: Request, options: ReadFormOptions): Promise<Form> {
  const { limits } = options;
  const type = request.headers.get('content-type') ?? '';
  if (!/^multipart\/form-data\s*;/i.test(type)) {
    const message = `Unsupported content type "${type}": send multipart/form-data`;
    throw new RequestError({ status: 415, message, apiCode: 'unsupported_content_type' });
  }
  const bytes = await readBytes(request, options);
  checkParts(bytes, type);
  const fields: Record<string, string | string[]> = Object.create(null);
  const files: Record<string, Uint8Array> = Object.create(null);
  let textBytes = 0;
  for (const [key, value] of await parsed(bytes, type)) {
    if (key in fields && !key.endsWith('[]')) throw invalidForm(`'${key}' is there twice`);
    if (typeof value !== 'string') files[key] = await fileBytes(key, value, limits);
    else {
      textBytes += Buffer.byteLength(value);
      if (textBytes > limits.textBytes) throw tooLarge(null, 'The text', limits, 'textBytes');
      if (key.endsWith('[]')) fields[key.slice(0, -2)] = [...(fields[key.slice(0, -2)] ?? []), value];
      else fields[key] = value;
    }
  }
  return { fields, files };
}

function checkParts(bytes: Buffer, type: string): void {
  const [, quoted, bare] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw invalidForm('the content type names no boundary');
  let at = -1;
  for (let parts = 0; parts <= MAX_FIELDS + 1; parts++) {
    at = bytes.indexOf(`--${boundary}`, at + 1);
    if (at < 0) return;
  }
  throw invalidForm(`it has more than ${MAX_FIELDS} fields`);
}

async function parsed(bytes: Buffer, type: string): Promise<Iterable<[string, string | Blob]>> {
  try {
    const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
    return form as unknown as Iterable<[string, string | Blob]>;
  } catch (cause) {
    throw invalidForm('it cannot be parsed', cause);
  }
}

async function fileBytes(
  name: string,
  file: Blob,
  limits: Pick<ServerLimits, 'mediaBytes'>,
): Promise<Uint8Array> {
  if (file.size > limits.mediaBytes) throw tooLarge(name, `'${name}'`, limits, 'mediaBytes');
  return new Uint8Array(await file.arrayBuffer());
}

function invalidForm(reason: string, cause?: unknown): RequestError {
  return badParameter(null, `The body is not a valid form: ${reason}`, 'invalid_form', cause);
}

function tooLarge<Limit extends string>(
  param: string | null,
  what: string,
  limits: Readonly<Record<Limit, number>>,
  limit: Limit,
): RequestError {
  const message = `${what} has more than ${limits[limit]} bytes: send less, or raise limits.${limit}`;
  return new RequestError({ status: 413, message, param, apiCode: 'body_too_large' });
}
