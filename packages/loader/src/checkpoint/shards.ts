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
import { type Finding, someOf } from './finding.js';

/** Name of the file that says which tensor is in which shard. */
export const INDEX_FILE = 'model.safetensors.index.json';
const SINGLE_FILE = 'model.safetensors';
const SHARD_NAME = /^(.+)-([0-9]{5})-of-([0-9]{5})\.safetensors$/;

/** The tensors of a checkpoint folder, by the names in the files, and what was noticed about its files. */
export interface OpenedShards {
  readonly tensors: readonly TensorView[];
  /** Tensors that another tensor of the same name hides, with that other tensor: the index names the other's file. */
  readonly hidden: readonly (readonly [hidden: TensorView, used: TensorView])[];
  readonly findings: readonly Finding[];
}

/** Options of `openShards`. */
export interface ShardOpenOptions {
  readonly signal?: AbortSignal;
  readonly header?: ReadOptions;
  /** Names of existing files that are read in addition to the weights. */
  readonly sidecars?: readonly string[];
}

/**
 * Opens all weight files of a checkpoint folder.
 *
 * If there is an index with entries, opens the files that it names; every tensor must be where the index says, and
 * tensors of these files that it does not name are read too. Otherwise opens `model.safetensors`, else a complete set of
 * `model-0000i-of-0000n.safetensors`, else every safetensors file. Hidden files, such as the `._*` of macOS, are never
 * weights.
 *
 * @throws FileAccessError, CorruptFileError (ShardMissing, UnsafeShardName, IndexMismatch, DuplicateKey and the rules
 * of a single file); the signal's reason when aborted
 */
export async function openShards(directory: string, options: ShardOpenOptions = {}): Promise<OpenedShards> {
  const { signal, header = {}, sidecars = [] } = options;
  const indexPath = join(directory, INDEX_FILE);
  const index = (await isFile(indexPath)) ? await readIndex(indexPath) : null;
  const isIndexed = index !== null && index.weightMap.size > 0;
  const named = isIndexed ? [...new Set(index.weightMap.values())] : await listShards(directory);
  const files = new Map<string, SafetensorsFile>();
  for (const name of new Set([...named, ...sidecars])) {
    signal?.throwIfAborted();
    const path = isIndexed
      ? await checkedShardPath(directory, name, indexPath)
      : await linkedPath(directory, name, directory);
    files.set(name, await openSafetensors(path, header));
  }
  if (isIndexed) return mergeIndexed(files, index, indexPath);
  const tensors = mergeShards([...files.values()]);
  if (index === null) return { tensors, hidden: [], findings: [] };
  const message = `${indexPath}: the index has no entries; the weight files in the folder were read instead`;
  const finding = { level: 'warning', code: 'EMPTY_INDEX', subject: INDEX_FILE, message } as const;
  return { tensors, hidden: [], findings: [finding] };
}

function mergeIndexed(
  files: ReadonlyMap<string, SafetensorsFile>,
  { weightMap, totalBytes }: ShardIndex,
  indexPath: string,
): OpenedShards {
  const taken = new Map<string, TensorView>();
  for (const [tensorName, fileName] of weightMap) {
    const tensor = files.get(fileName)!.tensors.get(tensorName);
    if (tensor === undefined) {
      throw new CorruptFileError({
        rule: 'IndexMismatch',
        path: indexPath,
        reason: `it says that "${tensorName}" is in ${fileName}, but that file has no such tensor`,
      });
    }
    taken.set(tensorName, tensor);
  }
  const findings: Finding[] = [];
  const warn = (code: string, problem: string): void => {
    findings.push({ level: 'warning', code, subject: INDEX_FILE, message: `${indexPath}: ${problem}` });
  };
  const unnamed: string[] = [];
  const hidden: [TensorView, TensorView][] = [];
  for (const { tensors } of files.values()) {
    for (const [name, tensor] of tensors) {
      const used = taken.get(name);
      if (used === undefined) {
        unnamed.push(name);
        taken.set(name, tensor);
      } else if (used !== tensor) hidden.push([tensor, used]);
    }
  }
  if (unnamed.length > 0) {
    warn(
      'INCOMPLETE_INDEX',
      `it does not name ${unnamed.length} tensors of its files, which were read: ${someOf(unnamed)}`,
    );
  }
  const tensors = [...taken.values()];
  const storedBytes = tensors.reduce((sum, { range }) => sum + range.sizeBytes, 0);
  if (totalBytes !== null && totalBytes !== storedBytes) {
    warn('WRONG_TOTAL_SIZE', `total_size is ${totalBytes}, but the tensors have ${storedBytes} bytes`);
  }
  return { tensors, hidden, findings };
}

/** What an index says. */
interface ShardIndex {
  readonly weightMap: ReadonlyMap<string, string>;
  /** `metadata.total_size`; null = absent, or not a number. */
  readonly totalBytes: number | null;
}

async function readIndex(indexPath: string): Promise<ShardIndex> {
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
  const metadata: unknown = reader.raw('metadata');
  const totalSize: unknown = Object(metadata).total_size;
  return { weightMap, totalBytes: typeof totalSize === 'number' ? totalSize : null };
}

/** Names of safetensors files in a folder, sorted; `._*` and other hidden files are left out. */
export async function safetensorsNames(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => /^[^.].*\.safetensors$/.test(name)).sort();
  } catch (cause) {
    throw accessError(directory, 'list', cause);
  }
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
  const names = await safetensorsNames(directory);
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
