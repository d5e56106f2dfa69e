import { copyFile, mkdir, readdir, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, posix, relative, sep } from 'node:path';
import { accessError, isFile, isFolder } from '../files/file-access.js';
import { readJson, readText } from '../files/read-json.js';
import { MAX_INDEX_BYTES } from '../limits.js';

const MAX_REF_BYTES = 256;
/** Of a blob that is being received. A different suffix from that of Python's tools: neither knows the other's locks. */
const INCOMPLETE = '.markbase.incomplete';

/** A file of `blobs/`. */
interface Blob {
  readonly name: string;
  readonly sizeBytes: number;
  /** Received in part by this engine. */
  readonly isIncomplete: boolean;
}

/** The folder of one repository in a Hugging Face cache: `refs/`, `blobs/` and `snapshots/`. */
export class HubCache {
  readonly root: string;

  constructor(
    private readonly cacheDir: string,
    repository: string,
  ) {
    this.root = join(cacheDir, folderName(repository));
  }

  /** Lock of this repository; `cacheDir/.locks` is where Python's tools keep theirs. */
  get lockPath(): string {
    return join(this.cacheDir, '.locks', relative(this.cacheDir, this.root), 'markbase.lock');
  }

  blob(blobId: string): string {
    return join(this.root, 'blobs', blobId);
  }

  /** Where a blob is collected until it is complete. */
  partialBlob(blobId: string): string {
    return `${this.blob(blobId)}${INCOMPLETE}`;
  }

  /** All blobs, complete and incomplete; none if there is no such repository. */
  async blobs(): Promise<Blob[]> {
    const names = await readdir(join(this.root, 'blobs')).catch(() => []);
    return Promise.all(
      names.map(async (name) => {
        const { size: sizeBytes } = await stat(this.blob(name));
        return { name, sizeBytes, isIncomplete: name.endsWith(INCOMPLETE) };
      }),
    );
  }

  snapshot(commit: string): string {
    return join(this.root, 'snapshots', commit);
  }

  /** Commit that a revision referred to when it was last downloaded; null if the cache does not know it. */
  async commitOf(revision: string): Promise<string | null> {
    const ref = join(this.root, 'refs', ...revision.split('/'));
    if (await isFile(ref)) {
      const commit = (await readText(ref, MAX_REF_BYTES)).trim();
      if (/^[0-9a-f]{40,64}$/.test(commit)) return commit;
    }
    const isCommit = /^[0-9a-f]{40,64}$/.test(revision);
    return isCommit && (await isFolder(this.snapshot(revision))) ? revision : null;
  }

  /** Creates the folders. */
  async prepare(commit: string): Promise<void> {
    for (const folder of [join(this.root, 'blobs'), this.snapshot(commit)]) await makeFolder(folder);
  }

  /**
   * Puts a complete blob at its place in a snapshot, as a link, or as a copy where links are forbidden.
   *
   * @returns false if there was a file at this place
   */
  async addToSnapshot(commit: string, path: string, blobId: string): Promise<boolean> {
    const place = join(this.snapshot(commit), ...path.split('/'));
    const isNew = !(await isFile(place));
    await makeFolder(dirname(place));
    const target = relative(dirname(place), this.blob(blobId)).split(sep).join(posix.sep);
    const fresh = `${place}.${process.pid}.tmp`;
    try {
      await unlink(fresh).catch(() => {});
      await symlink(target, fresh).catch(() => copyFile(this.blob(blobId), fresh));
      // Atomically, so that a reader sees either the old file or the new one.
      await rename(fresh, place);
      return isNew;
    } catch (cause) {
      throw accessError(place, 'write', cause);
    }
  }

  /** Remembers the commit of a revision; written last, so that it always names a complete snapshot. */
  async writeRef(revision: string, commit: string): Promise<void> {
    if (revision === commit) return;
    const ref = join(this.root, 'refs', ...revision.split('/'));
    const fresh = `${ref}.${process.pid}.tmp`;
    await makeFolder(dirname(ref));
    try {
      await writeFile(fresh, commit);
      await rename(fresh, ref);
    } catch (cause) {
      throw accessError(ref, 'write', cause);
    }
  }

  /** Forgets revisions whose snapshots are gone. */
  async removeDeadRefs(): Promise<void> {
    const refs = join(this.root, 'refs');
    const entries = await readdir(refs, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile()) continue;
      const commit = (await readText(path, MAX_REF_BYTES)).trim();
      if (!(await isFolder(this.snapshot(commit)))) await rm(path);
    }
    const isLeft = (await readdir(refs, { recursive: true, withFileTypes: true }).catch(() => [])).some(
      (entry) => entry.isFile(),
    );
    if (!isLeft) await rm(refs, { recursive: true, force: true });
  }

  /** Files that a snapshot with config.json lacks: config.json itself, weights, or shards of the index. */
  async missingFrom(commit: string): Promise<string[]> {
    const directory = this.snapshot(commit);
    const missing: string[] = [];
    if (!(await isFile(join(directory, 'config.json')))) missing.push('config.json');
    const index = join(directory, 'model.safetensors.index.json');
    if (await isFile(index)) {
      const json = (await readJson(index, MAX_INDEX_BYTES)) as {
        weight_map?: Record<string, unknown>;
      } | null;
      for (const name of new Set(Object.values(json?.weight_map ?? {}))) {
        const isThere = typeof name === 'string' && (await isFile(join(directory, name)));
        if (!isThere) missing.push(String(name));
      }
    } else if (!(await hasWeights(directory))) missing.push('model.safetensors');
    return missing;
  }
}

/** `models--org--name`. */
function folderName(repository: string): string {
  return `models--${repository.split('/').join('--')}`;
}

async function hasWeights(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    if (name.endsWith('.safetensors') && (await isFile(join(directory, name)))) return true;
  }
  return false;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (cause) {
    throw accessError(path, 'create', cause);
  }
}
