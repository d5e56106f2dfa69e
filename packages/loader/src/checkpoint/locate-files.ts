import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { FileAccessError } from '@markbase/core';
import { accessError, isFile, isFolder } from '../files/file-access.js';
import { readText } from '../files/read-json.js';
import { isRepositoryName } from '../hub/hub-options.js';

/** Absolute paths of the files next to the weights; null where the checkpoint has none. */
export interface CheckpointFiles {
  /** Path of tokenizer.json; null if there is none. */
  readonly tokenizer: string | null;
  /** Path of tokenizer_config.json; null if there is none. */
  readonly tokenizerConfig: string | null;
  /** `chat_template.jinja`. */
  readonly chatTemplate: string | null;
  /** `chat_template.json`, an older place of the template. */
  readonly chatTemplateJson: string | null;
  /** Path of generation_config.json; null if there is none. */
  readonly generationConfig: string | null;
  /** Path of processor_config.json; null if there is none. */
  readonly processorConfig: string | null;
  /** Path of preprocessor_config.json; null if there is none. */
  readonly preprocessorConfig: string | null;
}

/** Names of the files next to config.json and the weights. */
export const COMPANION_FILES = {
  tokenizer: 'tokenizer.json',
  tokenizerConfig: 'tokenizer_config.json',
  chatTemplate: 'chat_template.jinja',
  chatTemplateJson: 'chat_template.json',
  generationConfig: 'generation_config.json',
  processorConfig: 'processor_config.json',
  preprocessorConfig: 'preprocessor_config.json',
} as const satisfies Record<keyof CheckpointFiles, string>;

/** Longest content of a `refs/main` file: a commit id with a line end. */
const MAX_REF_BYTES = 256;

/**
 * The folder that holds config.json: the given one, or the current snapshot of a Hugging Face cache folder
 * (`models--owner--name`: what `refs/main` names, else the newest snapshot).
 *
 * @throws FileAccessError when the folder does not exist
 */
export async function locateDirectory(directory: string): Promise<string> {
  const absolute = resolve(directory);
  if (await isFile(join(absolute, 'config.json'))) return absolute;
  const snapshots = join(absolute, 'snapshots');
  const snapshot = (await isFolder(snapshots)) ? await currentSnapshot(absolute, snapshots) : null;
  if (snapshot !== null) return snapshot;
  const reason = (await isFolder(absolute))
    ? 'the folder has no config.json and no snapshot with one: it is not a checkpoint, or the download is incomplete'
    : (await isFile(absolute))
      ? 'it is a file, neither a checkpoint folder nor a .safetensors file'
      : isRepositoryName(directory)
        ? `the folder does not exist. If ${directory} is a repository on the hub, pass the folder that resolveCheckpoint('${directory}') or downloadCheckpoint('${directory}') of @markbase/loader returns`
        : 'the folder does not exist';
  throw new FileAccessError({ path: absolute, operation: 'open the checkpoint', reason });
}

/** Looks for the known files next to the weights. */
export async function locateCompanions(directory: string): Promise<CheckpointFiles> {
  const find = async (name: string): Promise<string | null> => {
    const path = join(directory, name);
    return (await isFile(path)) ? path : null;
  };
  const names = Object.entries(COMPANION_FILES);
  const found = await Promise.all(names.map(async ([key, name]) => [key, await find(name)] as const));
  return Object.fromEntries(found) as unknown as CheckpointFiles;
}

async function currentSnapshot(repository: string, snapshots: string): Promise<string | null> {
  const ref = join(repository, 'refs', 'main');
  if (await isFile(ref)) {
    const revision = (await readText(ref, MAX_REF_BYTES)).trim();
    // The content becomes part of a path, so only a plain name is allowed.
    const snapshot = join(snapshots, revision);
    if (
      /^[\w.-]+$/.test(revision) &&
      !/^\.+$/.test(revision) &&
      (await isFile(join(snapshot, 'config.json')))
    ) {
      return snapshot;
    }
  }
  return newestSnapshot(snapshots);
}

async function newestSnapshot(snapshots: string): Promise<string | null> {
  let newest: { path: string; modifiedMs: number } | null = null;
  try {
    for (const name of await readdir(snapshots)) {
      const path = join(snapshots, name);
      if (!(await isFile(join(path, 'config.json')))) continue;
      const modifiedMs = (await stat(path)).mtimeMs;
      if (newest === null || modifiedMs > newest.modifiedMs) newest = { path, modifiedMs };
    }
  } catch (cause) {
    throw accessError(snapshots, 'list', cause);
  }
  return newest?.path ?? null;
}
