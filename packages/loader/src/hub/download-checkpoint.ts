import { stat, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { checkOptionNames, FileAccessError, type OptionNames } from '@markbase/core';
import { isFile } from '../files/file-access.js';
import { withLock } from './cache-lock.js';
import { downloadBlob } from './download-blob.js';
import { DownloadError } from './download-error.js';
import { DownloadRecord } from './download-record.js';
import { HttpClient } from './http-client.js';
import { HubCache } from './hub-cache.js';
import {
  checkedRepository,
  defaultCacheDir,
  HUB_OPTIONS,
  type HubOptions,
  hubSettings,
  isOfflineByDefault,
} from './hub-options.js';
import { fileAddress, type RepositoryFile, repositoryInfo } from './repository-info.js';

/** Progress of a download. */
export interface DownloadProgress {
  /** waiting: another process downloads the same repository. */
  readonly phase: 'waiting' | 'downloading';
  /** File that the last bytes belong to; empty at the start. */
  readonly file: string;
  /** Bytes of all files present, including those from earlier calls. */
  readonly doneBytes: number;
  /** Bytes of all files to download. */
  readonly totalBytes: number;
  /** Files that are complete. */
  readonly doneFiles: number;
  /** Number of files to download. */
  readonly totalFiles: number;
}

/** Options of `downloadCheckpoint`. */
export interface DownloadOptions extends HubOptions {
  /** Folder of the cache; `HF_HUB_CACHE`, `HF_HOME/hub`, else `~/.cache/huggingface/hub`. */
  readonly cacheDir?: string;
  /** Never use the network; `HF_HUB_OFFLINE` by default. */
  readonly offline?: boolean;
  /** Files that are downloaded at the same time; 4 by default. */
  readonly parallelFiles?: number;
  /** Chooses files by their path in the repository; default: weights, settings, tokenizer and templates at its root. */
  readonly include?: (path: string) => boolean;
  /** Called whenever bytes arrive or a file is complete. */
  onProgress?(progress: DownloadProgress): void;
}

/** A checkpoint in the cache. */
export interface DownloadedCheckpoint {
  /** The snapshot, for `openCheckpoint`. */
  readonly directory: string;
  /** The repository, `org/name`. */
  readonly repository: string;
  /** The commit that `revision` meant, 40 hexadecimal digits. */
  readonly commit: string;
  /** Bytes received over the network in this call. */
  readonly receivedBytes: number;
}

const DEFAULT_PARALLEL_FILES = 4;

const OPTIONS: OptionNames<DownloadOptions> = {
  ...HUB_OPTIONS,
  cacheDir: true,
  offline: true,
  parallelFiles: true,
  include: true,
  onProgress: true,
};

/**
 * Downloads a checkpoint from a Hugging Face hub into the shared cache, unless it is there already.
 *
 * What an earlier call received is not requested again, even within a file. Sizes and hashes are checked before a file gets
 * its name, and a revision is remembered only when all of its files are complete. Only one process at a time downloads a
 * repository; others wait. The token is sent only to the origin of the endpoint, never along a redirect.
 *
 * @param repository such as `google/gemma-4-e2b-it`
 * @throws InvalidArgumentError, DownloadError, FileAccessError; the signal's reason
 */
export async function downloadCheckpoint(
  repository: string,
  options: DownloadOptions = {},
): Promise<DownloadedCheckpoint> {
  checkOptionNames(options, OPTIONS);
  const settings = hubSettings(options);
  const cache = new HubCache(resolve(options.cacheDir ?? defaultCacheDir()), checkedRepository(repository));
  settings.signal?.throwIfAborted();
  if (options.offline ?? isOfflineByDefault()) return cached(cache, repository, settings.revision);
  const stop = linkedController(settings.signal);
  const client = new HttpClient({ ...settings, signal: stop.signal });
  const { commit, files } = await repositoryInfo(client, repository);
  const chosen = files.filter(({ path }) => (options.include ?? isWanted)(path));
  const progress = new ProgressCounter(chosen, options);
  if (!chosen.some(({ path }) => path === 'config.json')) {
    const url = `${settings.endpoint}/${repository}`;
    throw new DownloadError({
      rule: 'NotFound',
      url,
      reason: 'it has no config.json, so it is not a checkpoint',
    });
  }
  const record = new DownloadRecord(cache.root);
  const download = async (): Promise<void> => {
    await cache.prepare(commit);
    await checkSpace(cache, chosen);
    await inParallel(byBlob(chosen), options.parallelFiles ?? DEFAULT_PARALLEL_FILES, stop, async (files) => {
      const [file] = files;
      const blob = cache.blob(file.blobId);
      const isThere = (await isFile(blob)) && (await stat(blob)).size === file.sizeBytes;
      if (isThere) progress.found(file);
      else {
        const url = fileAddress(settings.endpoint, repository, commit, file.path);
        const places = { target: blob, partial: cache.partialBlob(file.blobId) };
        await downloadBlob(client, url, file, places, progress.bytesOf(file));
        await record.addBlob(file.blobId);
      }
      for (const { path } of files) {
        if (await cache.addToSnapshot(commit, path, file.blobId)) await record.addFile(commit, path);
        progress.fileDone(path);
      }
    });
    await cache.writeRef(settings.revision, commit);
  };
  await withLock(cache.lockPath, settings.signal, download, () => progress.waiting());
  return { directory: cache.snapshot(commit), repository, commit, receivedBytes: progress.receivedBytes };
}

/** Weights, settings, tokenizer and templates at the root of a repository. */
function isWanted(path: string): boolean {
  return /^[^/]+\.(?:safetensors|json|jinja|txt|model)$/.test(path);
}

async function cached(cache: HubCache, repository: string, revision: string): Promise<DownloadedCheckpoint> {
  const fail = (reason: string): never => {
    throw new DownloadError({ rule: 'NotCached', url: repository, reason: `offline, and ${reason}` });
  };
  const commit = (await cache.commitOf(revision)) ?? fail(`${cache.root} has no revision "${revision}"`);
  const missing = await cache.missingFrom(commit);
  if (missing.length > 0) fail(`${cache.snapshot(commit)} lacks ${missing.slice(0, 5).join(', ')}`);
  return { directory: cache.snapshot(commit), repository, commit, receivedBytes: 0 };
}

/** It is better to notice a full disk before hours of downloading. */
async function checkSpace(cache: HubCache, files: readonly RepositoryFile[]): Promise<void> {
  let needed = 0;
  for (const file of files) {
    if (!(await isFile(cache.blob(file.blobId)))) needed += file.sizeBytes;
  }
  const { bavail, bsize } = await statfs(cache.root);
  if (needed <= bavail * bsize) return;
  throw new FileAccessError({
    path: cache.root,
    operation: 'download to',
    reason: `the disk has ${bavail * bsize} free bytes, but ${needed} are needed; set cacheDir or HF_HUB_CACHE`,
  });
}

/** Files of equal content share a blob, and are downloaded once. */
function byBlob(files: readonly RepositoryFile[]): [RepositoryFile, ...RepositoryFile[]][] {
  const groups = new Map<string, [RepositoryFile, ...RepositoryFile[]]>();
  for (const file of files) {
    const group = groups.get(file.blobId);
    if (group === undefined) groups.set(file.blobId, [file]);
    else group.push(file);
  }
  return [...groups.values()];
}

/** A controller that is aborted with `signal`, and can also be aborted on its own. */
function linkedController(signal: AbortSignal | undefined): AbortController {
  const controller = new AbortController();
  signal?.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
  return controller;
}

/** Runs `work` on all items, a few at a time; the first failure stops the others and is thrown. */
async function inParallel<T>(
  items: readonly T[],
  limit: number,
  stop: AbortController,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    try {
      for (const item of queue) {
        stop.signal.throwIfAborted();
        await work(item);
      }
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  };
  await Promise.allSettled(Array.from({ length: Math.max(1, limit) }, worker));
  stop.signal.throwIfAborted();
}

/** Counts bytes over all files. */
class ProgressCounter {
  receivedBytes = 0;
  private doneBytes = 0;
  private doneFiles = 0;
  private readonly totalBytes: number;

  constructor(
    private readonly files: readonly RepositoryFile[],
    private readonly options: DownloadOptions,
  ) {
    this.totalBytes = byBlob(files).reduce((sum, [{ sizeBytes }]) => sum + sizeBytes, 0);
  }

  waiting(): void {
    this.report('waiting', '');
  }

  found(file: RepositoryFile): void {
    this.doneBytes += file.sizeBytes;
  }

  /** A counter for one file; the first call says how much was there before. */
  bytesOf(file: RepositoryFile): (bytes: number) => void {
    let isFirst = true;
    return (bytes) => {
      this.doneBytes += bytes;
      if (!isFirst && bytes > 0) this.receivedBytes += bytes;
      isFirst = false;
      this.report('downloading', file.path);
    };
  }

  fileDone(path: string): void {
    this.doneFiles++;
    this.report('downloading', path);
  }

  private report(phase: DownloadProgress['phase'], file: string): void {
    const { doneBytes, totalBytes, doneFiles } = this;
    this.options.onProgress?.({
      phase,
      file,
      doneBytes,
      totalBytes,
      doneFiles,
      totalFiles: this.files.length,
    });
  }
}
