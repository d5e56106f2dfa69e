import type { FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkOptionNames, InvalidArgumentError } from '@markbase/core';
import { withFile } from '../files/file-access.js';
import { HandleSource, PathSource } from '../sources/file-source.js';
import type { HttpSourceOptions } from '../sources/http-source.js';
import { isPortableInput, type PortableInput, portableSource } from '../sources/portable-source.js';
import { OPEN_OPTIONS } from './open-portable.js';
import { type ReadOptions, readSafetensors, type SafetensorsFile } from './read-safetensors.js';

/** Where a safetensors file may come from: a path, an open file, or anything that browsers support too. */
export type SafetensorsInput = string | FileHandle | PortableInput;

/** What to allow in a header, and how to talk to a server. */
export interface OpenSafetensorsOptions extends ReadOptions, HttpSourceOptions {}

/**
 * Opens one safetensors file: the header is parsed and checked completely, no byte of a tensor is requested.
 *
 * A `FileHandle` still belongs to the caller, and must stay open while tensors are read. A `URL` may be `file:`, `http:` or
 * `https:`; the server must honour ranges.
 *
 * @throws FileAccessError or DownloadError when it cannot be read; CorruptFileError, with `rule`, when it breaks the
 * format; InvalidArgumentError for any other kind of input
 */
export async function openSafetensors(
  input: SafetensorsInput,
  options: OpenSafetensorsOptions = {},
): Promise<SafetensorsFile> {
  checkOptionNames(options, OPEN_OPTIONS);
  if (typeof input === 'string') return openPath(input, options);
  if (input instanceof URL && input.protocol === 'file:') return openPath(fileURLToPath(input), options);
  if (isPortableInput(input)) return readSafetensors(await portableSource(input, options), options);
  if (isFileHandle(input)) return readSafetensors(await HandleSource.of(input), options);
  throw new InvalidArgumentError({
    argument: 'input',
    expected: 'a path, FileHandle, Blob, ArrayBuffer, Uint8Array or URL',
    received: input,
  });
}

async function openPath(path: string, options: ReadOptions): Promise<SafetensorsFile> {
  if (/^https?:\/\//i.test(path)) {
    const hint = 'Pass `new URL(...)` for an address';
    throw new InvalidArgumentError({ argument: 'input', expected: 'a path', received: path, hint });
  }
  const absolute = resolve(path);
  return withFile(absolute, async (file, identity) =>
    readSafetensors(await HandleSource.of(file, absolute), options, new PathSource(absolute, identity)),
  );
}

function isFileHandle(input: unknown): input is FileHandle {
  return typeof input === 'object' && input !== null && 'fd' in input && 'stat' in input && 'read' in input;
}
