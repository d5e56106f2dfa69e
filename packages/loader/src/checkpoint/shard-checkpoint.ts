import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import { isFile } from '../files/file-access.js';
import { TemporaryFile } from '../files/temporary-file.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';
import { groupOf } from '../safetensors/tensor-group.js';
import type { TensorView } from '../safetensors/tensor-view.js';
import type { WriteProgress } from '../safetensors/write-safetensors.js';
import { stageGroups } from '../safetensors/write-sharded-checkpoint.js';
import { COPIED_FILES } from './companion-files.js';
import { locateDirectory } from './locate-files.js';
import { openShards } from './shards.js';

/** Options of `shardCheckpoint`. */
export interface ShardOptions {
  /** Bytes of tensors that one file may have; a larger tensor gets a separate file. */
  readonly maxShardBytes: number;
  /** Aborts the work, which then throws the signal's reason; nothing is left in the target folder. */
  readonly signal?: AbortSignal;
  /** Called while tensors are written. */
  onProgress?(progress: WriteProgress): void;
}

/** What `shardCheckpoint` wrote. */
export interface ShardReport {
  /** The folder that was written. */
  readonly directory: string;
  /** Number of tensors in all shards. */
  readonly tensorCount: number;
  /** Bytes of all tensors. */
  readonly sizeBytes: number;
}

const OPTIONS: OptionNames<ShardOptions> = { maxShardBytes: true, signal: true, onProgress: true };

/**
 * Writes the weights of a checkpoint folder, or of one safetensors file, into files of at most `maxShardBytes` with an
 * index. A large `maxShardBytes` joins them into one. Tensors keep their names and bytes, metadata of a single file is
 * kept, and the config and the tokenizer are copied. Nothing new appears before everything is complete.
 *
 * @param target folder of the new checkpoint, never the source itself
 * @throws InvalidArgumentError, and the errors of `openSafetensors` and `writeSafetensors`; the signal's reason
 */
export async function shardCheckpoint(
  source: string,
  target: string,
  options: ShardOptions,
): Promise<ShardReport> {
  checkOptionNames(options, OPTIONS);
  const { signal } = options;
  signal?.throwIfAborted();
  const directory = resolve(target);
  const { folder, tensors, metadata } = await openSource(source, signal);
  await refuseSamePlace(folder, directory);
  const files: TemporaryFile[] = [];
  try {
    const { maxShardBytes, onProgress } = options;
    await stageGroups(
      directory,
      tensors.map(groupOf),
      { maxShardBytes, metadata, signal, onProgress },
      files,
    );
    // Last, because a folder without config.json is not taken for a checkpoint.
    for (const name of [...COPIED_FILES, 'config.json']) {
      const from = join(folder, name);
      if (!(await isFile(from))) continue;
      const file = await TemporaryFile.create(join(directory, name));
      files.push(file);
      await file.copyFrom(from);
    }
    signal?.throwIfAborted();
    for (const file of files) await file.commit();
  } catch (error) {
    for (const file of files) await file.discard();
    throw error;
  }
  const sizeBytes = tensors.reduce((sum, { range }) => sum + range.sizeBytes, 0);
  return { directory, tensorCount: tensors.length, sizeBytes };
}

async function openSource(
  source: string,
  signal: AbortSignal | undefined,
): Promise<{ folder: string; tensors: readonly TensorView[]; metadata: Record<string, string> }> {
  if (source.endsWith('.safetensors')) {
    const { path, tensors, metadata } = await openSafetensors(source);
    return { folder: dirname(path), tensors: [...tensors.values()], metadata: Object.fromEntries(metadata) };
  }
  const folder = await locateDirectory(source);
  const { tensors } = await openShards(folder, { signal });
  const [first] = tensors;
  const metadata = first === undefined ? new Map() : (await openSafetensors(first.range.path)).metadata;
  return { folder, tensors, metadata: Object.fromEntries(metadata) };
}

async function refuseSamePlace(folder: string, target: string): Promise<void> {
  const existing = await realpath(target).catch(() => null);
  if (existing === null || existing !== (await realpath(folder))) return;
  throw new InvalidArgumentError({
    argument: 'target',
    expected: 'a folder other than the source',
    received: target,
  });
}
