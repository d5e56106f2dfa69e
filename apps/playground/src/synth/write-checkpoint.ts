import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dtypeBits, FileAccessError } from '@markbase/core';
import { planFile, type TensorSource, writeShardedCheckpoint } from '@markbase/loader';
import { checkEmpty } from '../empty-folder.js';
import { systemReason } from '../errors.js';
import { formatBytes } from '../output.js';
import type { CheckpointPlan } from './plan-checkpoint.js';

const MAX_SHARD_BYTES = 4.5e9;
/** Marks a folder that is still being written. */
const UNFINISHED = '.markbase-synth-unfinished';
/** Files that this command writes; those with a dot are not complete. */
const OWN_FILES = /^(\.?model.*\.safetensors(\..*)?|.*\.json)$/;

/**
 * Writes a planned checkpoint to an empty or new folder. config.json is written last, so that an incomplete folder does
 * not look like a checkpoint.
 *
 * @throws InvalidArgumentError if the folder contains files; FileAccessError if it cannot be created, or the disk is too small
 */
export async function writeCheckpoint(
  directory: string,
  plan: CheckpointPlan,
  options: {
    signal?: AbortSignal;
    onProgress?(progress: { writtenBytes: number; totalBytes: number }): void;
  },
): Promise<void> {
  await createEmptyFolder(directory);
  await writeFile(join(directory, UNFINISHED), '');
  await checkSpace(directory, plan.tensors);
  await writeShardedCheckpoint(directory, [...plan.tensors], {
    maxShardBytes: MAX_SHARD_BYTES,
    metadata: plan.metadata,
    ...options,
  });
  await writeJsonFiles(directory, plan);
  await rm(join(directory, UNFINISHED));
}

/**
 * Writes the same checkpoint as a sparse file without weights: it can be opened and mapped, takes no disk space, and
 * all weights are zero. For recording programs, not for running them.
 */
export async function writeSparseCheckpoint(directory: string, plan: CheckpointPlan): Promise<void> {
  await createEmptyFolder(directory);
  const { header, totalBytes } = planFile(plan.tensors, plan.metadata);
  const file = await open(join(directory, 'model.safetensors'), 'w');
  try {
    await file.writeFile(header);
    await file.truncate(totalBytes);
  } finally {
    await file.close();
  }
  await writeJsonFiles(directory, plan);
}

/** Size of all tensors of a plan in bytes. */
export function planBytes(plan: CheckpointPlan): number {
  return bytesOf(plan.tensors);
}

async function writeJsonFiles(directory: string, plan: CheckpointPlan): Promise<void> {
  for (const name of Object.keys(plan.files).reverse()) {
    await writeFile(join(directory, name), `${JSON.stringify(plan.files[name], null, 2)}\n`);
  }
}

async function createEmptyFolder(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true }).catch((cause: unknown) => {
    const reason = systemReason(cause);
    throw new FileAccessError({ path: directory, operation: 'create the folder', reason, cause });
  });
  if (existsSync(join(directory, UNFINISHED))) await removeUnfinished(directory);
  await checkEmpty(directory, '--out');
}

/** Removes what a killed run left in the folder: only files that this command writes. */
async function removeUnfinished(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (OWN_FILES.test(name)) await rm(join(directory, name), { recursive: true });
  }
  // Last: this may be killed too.
  await rm(join(directory, UNFINISHED));
}

async function checkSpace(directory: string, tensors: readonly TensorSource[]): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const needed = bytesOf(tensors);
  if (bavail * bsize >= needed) return;
  throw new FileAccessError({
    path: directory,
    operation: 'write',
    reason: `the checkpoint needs ${formatBytes(needed)}, but only ${formatBytes(bavail * bsize)} are free on this disk`,
  });
}

function bytesOf(tensors: readonly TensorSource[]): number {
  return tensors.reduce((total, tensor) => total + tensorBytes(tensor), 0);
}

function tensorBytes(tensor: TensorSource): number {
  return (tensor.shape.reduce((product, size) => product * size, 1) * dtypeBits(tensor.dtype)) / 8;
}
