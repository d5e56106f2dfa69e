import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { FileAccessError } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import { BLOCK_TOKENS, type Device } from '@markbase/metal-runtime';
import type { TextModelSettings } from '../engine/text-model-options.js';
import type { CacheBlocks } from './cache-blocks.js';

/** What keys and values depend on besides tokens, media and adapters. */
export interface CacheIdentity {
  /** Hash of the configuration and of all tensors: their names, types, shapes and samples of their bytes. */
  readonly model: string;
  readonly precision: 'high' | 'fast';
  readonly blockTokens: number;
  /** Bytes of a block of all full layers, and of one of all sliding layers. */
  readonly blockBytes: readonly [number, number];
  /** Kernels of another kind compute other bits. */
  readonly device: string;
}

/** Bytes of a sample, of which each tensor has this many at equal distances. */
const SAMPLE_BYTES = 128;
const SAMPLES = 4;
/** Files that are read at once. */
const READS = 8;

/** The identity of a model's caches. @throws FileAccessError if its weights can no longer be read */
export async function cacheIdentity(
  checkpoint: Checkpoint,
  { info }: Device,
  { precision }: TextModelSettings,
  { blockBytes }: CacheBlocks,
): Promise<CacheIdentity> {
  const { kind, isa } = info;
  return {
    model: await modelHash(checkpoint),
    precision,
    blockTokens: BLOCK_TOKENS,
    blockBytes,
    device: kind === 'cpu' ? `cpu ${isa}` : kind,
  };
}

async function modelHash({ config, quantization, weights }: Checkpoint): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([config, quantization]));
  const tensors = [...weights.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  const files = new Map<string, Promise<FileHandle>>();
  const fileOf = (source: string): Promise<FileHandle> => {
    const file = files.get(source) ?? open(source, 'r');
    files.set(source, file);
    return file;
  };
  try {
    for (let first = 0; first < tensors.length; first += READS) {
      const some = tensors.slice(first, first + READS);
      const samples = await Promise.all(
        some.map(async ([, { range }]) => sampled(await fileOf(range.path), range)),
      );
      for (const [index, [name, { dtype, shape }]] of some.entries()) {
        hash.update(JSON.stringify([name, dtype, shape])).update(samples[index]!);
      }
    }
  } catch (error) {
    const { message } = error as Error;
    throw new FileAccessError({
      path: [...files.keys()].at(-1)!,
      operation: 'read',
      reason: message,
      cause: error,
    });
  } finally {
    for (const file of await Promise.allSettled(files.values())) {
      if (file.status === 'fulfilled') await file.value.close();
    }
  }
  return hash.digest('hex');
}

async function sampled(
  file: FileHandle,
  { offsetBytes, sizeBytes }: { readonly offsetBytes: number; readonly sizeBytes: number },
): Promise<Buffer> {
  const bytes = Buffer.alloc(SAMPLES * SAMPLE_BYTES);
  const size = Math.min(SAMPLE_BYTES, sizeBytes);
  for (let sample = 0; sample < SAMPLES; sample++) {
    const begin = Math.floor(((sizeBytes - size) * sample) / (SAMPLES - 1));
    await file.read(bytes, sample * SAMPLE_BYTES, size, offsetBytes + begin);
  }
  return bytes;
}
