import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import { INDEX_FILE } from '../checkpoint/shards.js';
import { accessError } from '../files/file-access.js';
import { TemporaryFile } from '../files/temporary-file.js';
import { type FileLayout, planFile, specBytes } from './file-layout.js';
import { groupOf, type TensorGroup, type TensorSource } from './tensor-group.js';
import { fillFile, type WriteOptions, type WriteProgress } from './write-safetensors.js';

/** Options of `writeShardedCheckpoint`. */
export interface ShardedWriteOptions extends WriteOptions {
  /** Bytes of tensors that one file may have; a larger tensor gets a separate file. */
  readonly maxShardBytes: number;
}

/** One file of a sharded checkpoint. */
export interface Shard {
  readonly name: string;
  readonly groups: readonly TensorGroup[];
  readonly layout: FileLayout;
}

const OPTIONS: OptionNames<ShardedWriteOptions> = {
  metadata: true,
  signal: true,
  onProgress: true,
  maxShardBytes: true,
};

/**
 * Writes tensors as `model.safetensors`, or as `model-0000i-of-0000n.safetensors`, with `model.safetensors.index.json`.
 *
 * The folder is created. No file appears under its name before all of them are complete; after a failure or an abort
 * nothing new is left.
 *
 * @throws as `writeSafetensors`
 */
export function writeShardedCheckpoint(
  directory: string,
  tensors: readonly TensorSource[],
  options: ShardedWriteOptions,
): Promise<void> {
  checkOptionNames(options, OPTIONS);
  return writeGroups(directory, tensors.map(groupOf), options);
}

/** Like `writeShardedCheckpoint`, for tensors that are computed together. */
async function writeGroups(
  directory: string,
  groups: readonly TensorGroup[],
  options: ShardedWriteOptions,
): Promise<void> {
  const files: TemporaryFile[] = [];
  try {
    await stageGroups(directory, groups, options, files);
    options.signal?.throwIfAborted();
    for (const file of files) await file.commit();
  } catch (error) {
    for (const file of files) await file.discard();
    throw error;
  }
}

/** Writes everything, but under hidden names: the caller commits or discards `files`, also after a failure. */
export async function stageGroups(
  directory: string,
  groups: readonly TensorGroup[],
  options: ShardedWriteOptions & { onWritten?(progress: WriteProgress, tensor: string): void },
  files: TemporaryFile[],
): Promise<void> {
  const { signal, maxShardBytes } = options;
  signal?.throwIfAborted();
  if (!(maxShardBytes > 0)) {
    throw new InvalidArgumentError({
      argument: 'maxShardBytes',
      expected: 'more than 0',
      received: maxShardBytes,
    });
  }
  const root = resolve(directory);
  const shards = planShards(groups, maxShardBytes, options.metadata ?? {});
  const totalBytes = shards.reduce((sum, shard) => sum + shard.layout.totalBytes, 0);
  let writtenBytes = 0;
  await mkdir(root, { recursive: true }).catch((cause: unknown) => {
    throw accessError(root, 'create', cause);
  });
  for (const shard of shards) {
    const file = await TemporaryFile.create(join(root, shard.name));
    files.push(file);
    await fillFile(file, shard.layout, shard.groups, signal, (bytes, tensor) => {
      writtenBytes += bytes;
      options.onProgress?.({ writtenBytes, totalBytes });
      options.onWritten?.({ writtenBytes, totalBytes }, tensor);
    });
    await file.finish();
  }
  await stageFile(join(root, INDEX_FILE), indexText(shards), files);
}

/** Adds a small file to those waiting for `commit`. */
async function stageFile(path: string, text: string, files: TemporaryFile[]): Promise<void> {
  const file = await TemporaryFile.create(path);
  files.push(file);
  await file.write(new TextEncoder().encode(text), 0);
  await file.finish();
}

/** Fills one file after another, in the given order; a group is never split. */
export function planShards(
  groups: readonly TensorGroup[],
  maxShardBytes: number,
  metadata: Readonly<Record<string, string>>,
): Shard[] {
  checkNames(groups);
  const parts: TensorGroup[][] = [[]];
  let bytes = 0;
  for (const group of groups) {
    const size = group.tensors.reduce((sum, tensor) => sum + specBytes(tensor), 0);
    if (bytes > 0 && bytes + size > maxShardBytes) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(group);
    bytes += size;
  }
  const padded = (number: number): string => String(number).padStart(5, '0');
  return parts.map((part, index) => ({
    name:
      parts.length === 1
        ? 'model.safetensors'
        : `model-${padded(index + 1)}-of-${padded(parts.length)}.safetensors`,
    groups: part,
    layout: planFile(
      part.flatMap((group) => group.tensors),
      metadata,
    ),
  }));
}

/** Each file checks its own names; equal names in two files would go unnoticed. */
function checkNames(groups: readonly TensorGroup[]): void {
  const names = new Set<string>();
  for (const { name } of groups.flatMap((group) => group.tensors)) {
    if (names.has(name)) {
      throw new InvalidArgumentError({ argument: 'tensors', expected: 'different names', received: name });
    }
    names.add(name);
  }
}

/** The text of `model.safetensors.index.json`. */
export function indexText(shards: readonly Shard[]): string {
  const weightMap: [string, string][] = [];
  let totalSize = 0;
  for (const shard of shards) {
    for (const [name, { sizeBytes }] of shard.layout.tensors) {
      weightMap.push([name, shard.name]);
      totalSize += sizeBytes;
    }
  }
  weightMap.sort(([a], [b]) => (a < b ? -1 : 1));
  // fromEntries treats keys such as "__proto__" like any other.
  const index = { metadata: { total_size: totalSize }, weight_map: Object.fromEntries(weightMap) };
  return `${JSON.stringify(index, null, 2)}\n`;
}
