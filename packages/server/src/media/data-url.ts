import { badParameter } from '../errors/request-error.js';

/**
 * Reads the URL of a medium: returns the bytes of a `data:` URL, or an http(s) URL to fetch.
 *
 * @throws RequestError (400) for anything else
 */
export function mediaAddress(text: string, param: string): Uint8Array | URL {
  if (/^data:/i.test(text)) return dataBytes(text, param);
  let url: URL | null = null;
  try {
    url = new URL(text);
  } catch {
    // Reported below, with the supported schemes.
  }
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw badParameter(
    param,
    `Invalid value for '${param}': expected a data:, http: or https: URL`,
    'invalid_url',
  );
}

/** Decodes base64 text, which may be broken into lines. @throws RequestError (400) for anything else */
export function base64Bytes(lines: string, param: string): Uint8Array {
  const text = lines.replaceAll(/[\t\n\r ]+/g, '');
  if (text === '' || text.length % 4 === 1 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) {
    throw badParameter(param, `Invalid value for '${param}': expected base64`, 'invalid_base64');
  }
  return Buffer.from(text, 'base64');
}

function dataBytes(text: string, param: string): Uint8Array {
  const comma = text.indexOf(',');
  if (comma > 0 && /;base64$/i.test(text.slice(0, comma))) return base64Bytes(text.slice(comma + 1), param);
  throw badParameter(
    param,
    `Invalid value for '${param}': expected data:<type>;base64,<data>`,
    'invalid_base64',
  );
}
