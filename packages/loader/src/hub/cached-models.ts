import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DownloadRecord } from './download-record.js';
import { HubCache } from './hub-cache.js';
import { defaultCacheDir, isRepositoryName } from './hub-options.js';

/** A repository in the cache that holds a Gemma 4 checkpoint, whole or in part. */
export interface CachedModel {
  /** `org/name`. */
  readonly repository: string;
  /** Folder of its newest snapshot, for `openCheckpoint`. */
  readonly directory: string;
  /** The commit of that snapshot. */
  readonly commit: string;
  /** Bytes of all of its blobs, including what an interrupted download has received. */
  readonly sizeBytes: number;
  /** False after an interrupted download, which the next one continues. */
  readonly isComplete: boolean;
  /** True if this engine downloaded any of it, so that `removeCachedModel` removes that. */
  readonly isOwn: boolean;
  /** Milliseconds since 1970 of the last change of the snapshot. */
  readonly changedAtMs: number;
}

const FOLDER = /^models--(.+?)--(.+)$/;
const MODEL_TYPE = /"model_type"\s*:\s*"gemma4/;

/**
 * Lists the Gemma 4 models in a Hugging Face cache, by name. What cannot be read is left out.
 *
 * @param cacheDir default: `HF_HUB_CACHE`, `HF_HOME/hub`, else `~/.cache/huggingface/hub`
 */
export async function listCachedModels(cacheDir: string = defaultCacheDir()): Promise<CachedModel[]> {
  const folder = resolve(cacheDir);
  const names = await readdir(folder).catch(() => []);
  const models = await Promise.all(names.map((name) => cachedModel(folder, name).catch(() => null)));
  return models.filter((model) => model !== null).sort((a, b) => (a.repository < b.repository ? -1 : 1));
}

async function cachedModel(cacheDir: string, folder: string): Promise<CachedModel | null> {
  const [, organisation, name] = FOLDER.exec(folder) ?? [];
  const repository = `${organisation}/${name}`;
  if (!isRepositoryName(repository)) return null;
  const cache = new HubCache(cacheDir, repository);
  const commit = (await cache.commitOf('main')) ?? (await newestSnapshot(cache));
  if (commit === null) return null;
  const directory = cache.snapshot(commit);
  const config = await readFile(join(directory, 'config.json'), 'utf8').catch(() => null);
  const blobs = await cache.blobs();
  const isPartial = blobs.some(({ isIncomplete }) => isIncomplete);
  // Before its config.json has arrived, only the name tells what is being downloaded.
  const isOurs = config === null ? isPartial && /gemma-?4/i.test(repository) : MODEL_TYPE.test(config);
  if (!isOurs) return null;
  const record = await new DownloadRecord(cache.root).read();
  return {
    repository,
    directory,
    commit,
    sizeBytes: blobs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    isComplete: !isPartial && (await cache.missingFrom(commit)).length === 0,
    isOwn: isPartial || record.blobs.size > 0 || record.files.size > 0,
    changedAtMs: (await stat(directory)).mtimeMs,
  };
}

async function newestSnapshot(cache: HubCache): Promise<string | null> {
  const commits = await readdir(join(cache.root, 'snapshots'));
  const times = await Promise.all(
    commits.map(async (commit) => ({ commit, at: (await stat(cache.snapshot(commit))).mtimeMs })),
  );
  return times.sort((a, b) => b.at - a.at)[0]?.commit ?? null;
}
