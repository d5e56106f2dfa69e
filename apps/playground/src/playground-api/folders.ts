import { readdir, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { homePath } from '../home-path.js';
import type { FolderListing } from './playground-types.js';

/** Maximum number of folders shown. */
const MOST_FOLDERS = 500;

/**
 * Folders inside a folder, without hidden ones; folders that look like checkpoints are marked.
 *
 * @param path empty = the home folder, which may also be written as `~`
 * @throws the system's error, such as ENOENT
 */
export async function listFolders(path: string): Promise<FolderListing> {
  const folder = await realpath(path === '' ? homedir() : resolve(homePath(path)));
  const entries = await readdir(folder, { withFileTypes: true });
  const shown = entries
    .filter((entry) => !entry.name.startsWith('.') && (entry.isDirectory() || entry.isSymbolicLink()))
    .map(({ name }) => name)
    .sort((a, b) => a.localeCompare(b))
    .slice(0, MOST_FOLDERS);
  const folders = await Promise.all(
    shown.map(async (name) => {
      const inner = join(folder, name);
      const names = await readdir(inner).catch(() => null);
      return names && { name, path: inner, isCheckpoint: looksLikeCheckpoint(names) };
    }),
  );
  const parent = dirname(folder);
  return {
    path: folder,
    parent: parent === folder ? null : parent,
    folders: folders.filter((entry) => entry !== null),
  };
}

function looksLikeCheckpoint(names: readonly string[]): boolean {
  return names.includes('config.json') && names.some((name) => name.endsWith('.safetensors'));
}
