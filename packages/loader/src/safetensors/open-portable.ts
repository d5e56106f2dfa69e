import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import type { HttpSourceOptions } from '../sources/http-source.js';
import { isPortableInput, type PortableInput, portableSource } from '../sources/portable-source.js';
import { type ReadOptions, readSafetensors, type SafetensorsFile } from './read-safetensors.js';

/** What to allow in a header, and how to talk to a server. */
export interface OpenPortableOptions extends ReadOptions, HttpSourceOptions {}

/** The names of `OpenPortableOptions`. */
export const OPEN_OPTIONS: OptionNames<OpenPortableOptions> = {
  maxTensorCount: true,
  metadataValues: true,
  maxHeaderBytes: true,
  firstRequestBytes: true,
  signal: true,
  stallTimeoutMs: true,
  maxRetries: true,
  retryDelayMs: true,
  token: true,
  redirects: true,
  onRedirect: true,
};

/**
 * Opens one safetensors file in a browser: the header is parsed and checked completely, no byte of a tensor is requested.
 * Give a chosen `File` or another `Blob`, an `ArrayBuffer`, a `Uint8Array`, or the `URL` of a server that honours ranges
 * and, on another origin, exposes `Content-Range`.
 *
 * @throws FileAccessError or DownloadError when it cannot be read; CorruptFileError, with `rule`, when it breaks the
 * format; InvalidArgumentError for any other kind of input
 */
export async function openSafetensors(
  input: PortableInput,
  options: OpenPortableOptions = {},
): Promise<SafetensorsFile> {
  checkOptionNames(options, OPEN_OPTIONS);
  if (isPortableInput(input)) return readSafetensors(await portableSource(input, options), options);
  throw new InvalidArgumentError({
    argument: 'input',
    expected: 'a File, Blob, ArrayBuffer, Uint8Array or URL; paths need Node',
    received: input,
  });
}
