import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { InvalidArgumentError } from '@markbase/core';
import { INDEX_FILE } from '../checkpoint/shards.js';
import { accessError } from '../files/file-access.js';
import { withLock } from '../hub/cache-lock.js';
import type { TensorGroup } from '../safetensors/tensor-group.js';
import type { WriteProgress } from '../safetensors/write-safetensors.js';
import { indexText, planShards } from '../safetensors/write-sharded-checkpoint.js';
import { ConversionStage } from './conversion-stage.js';

/** A new checkpoint before it is written. */
export interface Conversion {
  readonly groups: readonly TensorGroup[];
  readonly configText: string;
  /** Paths of files to copy, if they exist. */
  readonly copiedFiles: readonly string[];
  /** A string that is equal exactly when every byte of the result is. */
  readonly fingerprint: string;
  readonly maxShardBytes: number;
  readonly resume: boolean;
  readonly signal?: AbortSignal;
  onWritten(progress: WriteProgress, tensor: string): void;
}

/**
 * Writes a converted checkpoint; one process at a time works on a folder.
 *
 * @returns bytes that an earlier run had written
 */
export async function writeConversion(directory: string, conversion: Conversion): Promise<number> {
  const { signal, maxShardBytes } = conversion;
  signal?.throwIfAborted();
  if (!(maxShardBytes > 0)) {
    throw new InvalidArgumentError({
      argument: 'maxShardBytes',
      expected: 'more than 0',
      received: maxShardBytes,
    });
  }
  await mkdir(directory, { recursive: true }).catch((cause: unknown) => {
    throw accessError(directory, 'create', cause);
  });
  return withLock(join(directory, '.markbase-convert.lock'), signal, () =>
    writeLocked(directory, conversion),
  );
}

async function writeLocked(directory: string, conversion: Conversion): Promise<number> {
  const { groups, signal, resume } = conversion;
  const shards = planShards(groups, conversion.maxShardBytes, { format: 'mlx' });
  const totalBytes = shards.reduce((sum, { layout }) => sum + layout.totalBytes, 0);
  const stage = await ConversionStage.open(directory, conversion.fingerprint, resume);
  let writtenBytes = 0;
  try {
    for (const shard of shards) {
      await stage.writeShard(shard, signal, (bytes, tensor) => {
        writtenBytes += bytes;
        conversion.onWritten({ writtenBytes, totalBytes }, tensor);
      });
    }
    await stage.addText(INDEX_FILE, indexText(shards));
    for (const path of conversion.copiedFiles) await stage.addCopy(basename(path), path);
    await stage.addText('config.json', conversion.configText);
    signal?.throwIfAborted();
    await stage.commit();
  } catch (error) {
    if (!resume) await stage.discard();
    throw error;
  }
  return stage.resumedBytes;
}
