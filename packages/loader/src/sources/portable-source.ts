import { InvalidArgumentError } from '@markbase/core';
import { BlobSource } from './blob-source.js';
import type { ByteSource } from './byte-source.js';
import { HttpSource, type HttpSourceOptions } from './http-source.js';
import { MemorySource } from './memory-source.js';

/** Inputs that Node and browsers both support: an address, a blob (such as a chosen file), or a whole file in memory. */
export type PortableInput = URL | Blob | ArrayBufferLike | Uint8Array;

/** True for inputs that do not need Node. */
export function isPortableInput(input: unknown): input is PortableInput {
  return input instanceof URL || input instanceof Blob || isMemory(input);
}

/** The bytes of an input; for an address, this requests its size. */
export async function portableSource(input: PortableInput, options: HttpSourceOptions): Promise<ByteSource> {
  if (input instanceof Blob) return new BlobSource(input);
  if (isMemory(input)) return new MemorySource(input);
  if (/^https?:$/.test(input.protocol)) return HttpSource.open(input, options);
  throw new InvalidArgumentError({
    argument: 'input',
    expected: 'an address with https: or http:',
    received: input.protocol,
  });
}

function isMemory(input: unknown): input is ArrayBufferLike | Uint8Array {
  if (input instanceof ArrayBuffer || input instanceof Uint8Array) return true;
  return typeof SharedArrayBuffer !== 'undefined' && input instanceof SharedArrayBuffer;
}
