import { readdir, readlink, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { checkOptionNames, FileAccessError, type OptionNames } from '@markbase/core';
import { accessError } from '../files/file-access.js';
import { withLock } from './cache-lock.js';
import { DownloadRecord } from './download-record.js';
import { HubCache } from './hub-cache.js';
import { checkedRepository, defaultCacheDir } from './hub-options.js';

/** What `removeCachedModel` removed. */
export interface RemovedModel {
  /** `org/name`. */
  readonly repository: string;
  /** Bytes that are free again. */
  readonly freedBytes: number;
  /** True if nothing of the repository is left; otherwise another tool had downloaded the rest. */
  readonly isGone: boolean;
}

/** Options of `removeCachedModel`. */
export interface RemoveOptions {
  /** Folder of the cache; default: as for downloads. */
  readonly cacheDir?: string;
  /** Aborts while another process holds the repository. */
  readonly signal?: AbortSignal;
}

const OPTIONS: OptionNames<RemoveOptions> = { cacheDir: true, signal: true };

/**
 * Removes from the shared cache what this engine has downloaded of a repository, including unfinished files. Files that
 * another tool downloaded stay, and so do those that its snapshots use.
 *
 * @throws InvalidArgumentError for a wrong name; FileAccessError if nothing of it was downloaded by this engine, or if
 *   files cannot be removed; the signal's reason
 */
export async function removeCachedModel(
  repository: string,
  options: RemoveOptions = {},
): Promise<RemovedModel> {
  checkOptionNames(options, OPTIONS);
  const cacheDir = resolve(options.cacheDir ?? defaultCacheDir());
  const cache = new HubCache(cacheDir, checkedRepository(repository));
  if ((await ownBytes(cache)) === null) {
    const isThere = (await cache.blobs()).length > 0;
    const reason = isThere
      ? 'another tool downloaded it: remove it there, or delete the folder'
      : 'it is not in the cache';
    throw new FileAccessError({ path: isThere ? cache.root : repository, operation: 'remove', reason });
  }
  return withLock(cache.lockPath, options.signal, async () => {
    try {
      return { repository, ...(await removeOwn(cache)) };
    } catch (cause) {
      throw accessError(cache.root, 'remove', cause);
    }
  });
}

/** Bytes that removal would free at most; null if this engine has downloaded nothing of it. */
async function ownBytes(cache: HubCache): Promise<number | null> {
  const { blobs, files } = await new DownloadRecord(cache.root).read();
  const own = (await cache.blobs()).filter(({ name, isIncomplete }) => isIncomplete || blobs.has(name));
  if (own.length === 0 && files.size === 0) return null;
  return own.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

async function removeOwn(cache: HubCache): Promise<{ freedBytes: number; isGone: boolean }> {
  const record = new DownloadRecord(cache.root);
  const { blobs, files } = await record.read();
  for (const file of files) {
    const path = join(cache.root, 'snapshots', ...file.split('/'));
    await rm(path, { force: true });
    await removeEmpty(dirname(path), cache.root);
  }
  // An interrupted download leaves the folder of its snapshot.
  for (const commit of await readdir(join(cache.root, 'snapshots')).catch(() => [])) {
    await removeEmpty(cache.snapshot(commit), cache.root);
  }
  const used = await usedBlobs(cache);
  let freedBytes = 0;
  for (const { name, sizeBytes, isIncomplete } of await cache.blobs()) {
    if (!isIncomplete && (!blobs.has(name) || used.has(name))) continue;
    await rm(cache.blob(name));
    freedBytes += sizeBytes;
  }
  await cache.removeDeadRefs();
  await rm(record.path, { force: true });
  for (const name of ['blobs', 'snapshots']) await removeEmpty(join(cache.root, name), dirname(cache.root));
  const rest = await readdir(cache.root).catch(() => null);
  return { freedBytes, isGone: rest === null };
}

/** Blobs that the remaining files of snapshots link to. */
async function usedBlobs(cache: HubCache): Promise<Set<string>> {
  const folder = join(cache.root, 'snapshots');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const links = entries.filter((entry) => entry.isSymbolicLink());
  const targets = await Promise.all(links.map(({ parentPath, name }) => readlink(join(parentPath, name))));
  return new Set(targets.map((target) => basename(target)));
}

/** Removes a folder and those around it, up to `end`, as far as they are empty. */
async function removeEmpty(folder: string, end: string): Promise<void> {
  for (let at = folder; at !== end && at.length > end.length; at = dirname(at)) {
    if (
      !(await rmdir(at).then(
        () => true,
        () => false,
      ))
    )
      return;
  }
}
