import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { CorruptFileError, FileAccessError } from '@markbase/core';
import { ConfigReader } from '../config/config-reader.js';
import { accessError, isFile } from '../files/file-access.js';
import { readJson } from '../files/read-json.js';
import { MAX_INDEX_BYTES, MAX_SHARD_COUNT } from '../limits.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';
import type { ReadOptions, SafetensorsFile } from '../safetensors/read-safetensors.js';
import type { TensorView } from '../safetensors/tensor-view.js';

/** Name of the file that says which tensor is in which shard. */
export const INDEX_FILE = 'model.safetensors.index.json';
const SINGLE_FILE = 'model.safetensors';
const SHARD_NAME = /^(.+)-([0-9]{5})-of-([0-9]{5})\.safetensors$/;

/**
 * Opens all weight files of a checkpoint folder and returns their tensors, by the names in the files.
 *
 * If there is an index, opens the files that it names; every tensor must be where the index says. Otherwise opens
 * `model.safetensors`, else a complete set of `model-0000i-of-0000n.safetensors`, else every safetensors file.
 *
 * @throws FileAccessError, CorruptFileError (ShardMissing, UnsafeShardName, IndexMismatch, DuplicateKey and the rules
 * of a single file); the signal's reason when aborted
 */
export async function openShards(
  directory: string,
  signal?: AbortSignal,
  header: ReadOptions = {},
): Promise<TensorView[]> {
  const indexPath = join(directory, INDEX_FILE);
  if (await isFile(indexPath)) return openIndexed(directory, indexPath, header, signal);
  const files: SafetensorsFile[] = [];
  for (const name of await listShards(directory)) {
    signal?.throwIfAborted();
    files.push(await openSafetensors(await linkedPath(directory, name, directory), header));
  }
  return mergeShards(files);
}

async function openIndexed(
  directory: string,
  indexPath: string,
  header: ReadOptions,
  signal?: AbortSignal,
): Promise<TensorView[]> {
  const weightMap = await readIndex(indexPath);
  const files = new Map<string, SafetensorsFile>();
  for (const name of new Set(weightMap.values())) {
    signal?.throwIfAborted();
    files.set(name, await openSafetensors(await checkedShardPath(directory, name, indexPath), header));
  }
  const tensors: TensorView[] = [];
  for (const [tensorName, fileName] of weightMap) {
    const tensor = files.get(fileName)!.tensors.get(tensorName);
    if (tensor === undefined) {
      throw new CorruptFileError({
        rule: 'IndexMismatch',
        path: indexPath,
        reason: `it says that "${tensorName}" is in ${fileName}, but that file has no such tensor`,
      });
    }
    tensors.push(tensor);
  }
  return tensors;
}

async function readIndex(indexPath: string): Promise<Map<string, string>> {
  const reader = new ConfigReader(await readJson(indexPath, MAX_INDEX_BYTES), indexPath);
  const table = reader.object('weight_map') ?? reader.fail('weight_map', 'an object');
  const weightMap = new Map<string, string>();
  for (const tensor of table.keys()) {
    const file = table.raw(tensor);
    weightMap.set(tensor, typeof file === 'string' ? file : table.fail(tensor, 'a file name'));
  }
  if (new Set(weightMap.values()).size > MAX_SHARD_COUNT) {
    reader.fail('weight_map', `a table with at most ${MAX_SHARD_COUNT} files`);
  }
  return weightMap;
}

/** The path of a shard that an index names; it must be a file of this checkpoint. */
async function checkedShardPath(directory: string, name: string, indexPath: string): Promise<string> {
  if (!/^[^/\\:\0]+\.safetensors$/.test(name)) {
    throw unsafeName(name, indexPath, 'is not the plain name of a safetensors file');
  }
  if (!(await isFile(join(directory, name)))) {
    throw new CorruptFileError({
      rule: 'ShardMissing',
      path: indexPath,
      reason: `the shard ${name} is missing: the download of the checkpoint is incomplete`,
    });
  }
  return linkedPath(directory, name, indexPath);
}

/** The path of a weight file; a link may only point to a file of the same checkpoint. */
async function linkedPath(directory: string, name: string, namedBy: string): Promise<string> {
  const path = join(directory, name);
  let target: string;
  try {
    target = await realpath(path);
  } catch (cause) {
    throw accessError(path, 'resolve', cause);
  }
  const isInside = (await allowedRoots(directory)).some((root) => target.startsWith(root + sep));
  if (isInside) return path;
  const advice = 'link the whole folder instead, or copy the file';
  throw unsafeName(name, namedBy, `is a link to a file outside the checkpoint: ${advice}`);
}

function unsafeName(name: string, path: string, problem: string): CorruptFileError {
  const reason = `shard ${JSON.stringify(name.slice(0, 120))} ${problem}`;
  return new CorruptFileError({ rule: 'UnsafeShardName', path, reason });
}

/** The folder itself and, for a snapshot of a Hugging Face cache, the blobs of the same repository. */
async function allowedRoots(directory: string): Promise<string[]> {
  const root = await realpath(directory);
  if (basename(dirname(root)) !== 'snapshots') return [root];
  return [root, join(dirname(dirname(root)), 'blobs')];
}

async function listShards(directory: string): Promise<string[]> {
  let names: string[];
  try {
    names = (await readdir(directory)).filter((name) => name.endsWith('.safetensors')).sort();
  } catch (cause) {
    throw accessError(directory, 'list', cause);
  }
  if (names.includes(SINGLE_FILE)) return [SINGLE_FILE];
  const numbered = names.filter((name) => SHARD_NAME.test(name));
  if (numbered.length > 0) checkComplete(directory, numbered);
  const chosen = numbered.length > 0 ? numbered : names;
  if (chosen.length === 0) {
    throw new FileAccessError({
      path: directory,
      operation: 'open the weights in',
      reason: 'it has no safetensors file; download the weights, or convert the checkpoint to safetensors',
    });
  }
  return chosen;
}

/** Requires that numbered shards are one series from 1 to n. */
function checkComplete(directory: string, names: readonly string[]): void {
  const [, stem, , count] = SHARD_NAME.exec(names[0]!)!;
  for (let number = 1; number <= Number(count); number++) {
    const name = `${stem}-${String(number).padStart(5, '0')}-of-${count}.safetensors`;
    if (names.includes(name)) continue;
    throw new CorruptFileError({
      rule: 'ShardMissing',
      path: join(directory, name),
      reason: 'the shard is missing: the download of the checkpoint is incomplete',
    });
  }
  if (names.length !== Number(count)) {
    throw new CorruptFileError({
      rule: 'IndexMismatch',
      path: directory,
      reason: `expected ${count} numbered safetensors files, received ${names.length} from several series`,
    });
  }
}

function mergeShards(files: readonly SafetensorsFile[]): TensorView[] {
  const merged = new Map<string, TensorView>();
  for (const file of files) {
    for (const [name, tensor] of file.tensors) {
      const other = merged.get(name);
      if (other !== undefined) {
        const reason = `the tensor "${name}" is also in ${other.range.path}, and no index says which one to use`;
        throw new CorruptFileError({ rule: 'DuplicateKey', path: file.path, reason });
      }
      merged.set(name, tensor);
    }
  }
  return [...merged.values()];
}
