import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accessError, isFile } from '../files/file-access.js';
import { readText } from '../files/read-json.js';

/** In the folder of a repository; other tools that share the cache ignore it. */
const FILE = '.markbase-downloads';
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** What this engine itself has written of a repository in the shared cache, so that only that is removed again. */
export class DownloadRecord {
  readonly #path: string;

  constructor(root: string) {
    this.#path = join(root, FILE);
  }

  /** The file of the record. */
  get path(): string {
    return this.#path;
  }

  /** A blob that was received. */
  addBlob(blobId: string): Promise<void> {
    return this.#add(`blob ${blobId}`);
  }

  /** A file of a snapshot that did not exist before. */
  addFile(commit: string, path: string): Promise<void> {
    return this.#add(`file ${commit}/${path}`);
  }

  /** Everything recorded; empty if nothing was. */
  async read(): Promise<{ readonly blobs: ReadonlySet<string>; readonly files: ReadonlySet<string> }> {
    const text = (await isFile(this.#path)) ? await readText(this.#path, MAX_RECORD_BYTES) : '';
    const lines = text.split('\n');
    const named = (kind: string) =>
      new Set(lines.filter((line) => line.startsWith(kind)).map((line) => line.slice(kind.length)));
    return { blobs: named('blob '), files: named('file ') };
  }

  async #add(line: string): Promise<void> {
    try {
      await appendFile(this.#path, `${line}\n`);
    } catch (cause) {
      throw accessError(this.#path, 'write', cause);
    }
  }
}
