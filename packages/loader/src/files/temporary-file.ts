import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { COPY_CHUNK_BYTES } from '../limits.js';
import { accessError, readExactly, withFile, writeFully } from './file-access.js';

/**
 * A file that appears under its name only when it is complete.
 *
 * Until `commit` it is a hidden neighbour of the target; `discard` removes it. Failures of the operating system become
 * a `FileAccessError` that names the target.
 */
export class TemporaryFile {
  private constructor(
    private readonly target: string,
    private readonly path: string,
    private handle: FileHandle | null,
  ) {}

  static async create(target: string): Promise<TemporaryFile> {
    const suffix = randomBytes(6).toString('hex');
    const path = join(dirname(target), `.${basename(target)}.${suffix}.tmp`);
    try {
      return new TemporaryFile(target, path, await open(path, 'wx'));
    } catch (cause) {
      throw accessError(target, 'write', cause);
    }
  }

  /** Writes bytes at an offset of the file. */
  async write(bytes: Uint8Array, offsetBytes: number): Promise<void> {
    try {
      await writeFully(this.handle!, bytes, offsetBytes);
    } catch (cause) {
      throw accessError(this.target, 'write', cause);
    }
  }

  /** Fills the file with the bytes of another one, and finishes it. */
  async copyFrom(source: string): Promise<void> {
    await withFile(source, async (file, { sizeBytes }) => {
      for (let begin = 0; begin < sizeBytes; begin += COPY_CHUNK_BYTES) {
        const bytes = new Uint8Array(Math.min(COPY_CHUNK_BYTES, sizeBytes - begin));
        await readExactly(file, source, bytes, begin);
        await this.write(bytes, begin);
      }
    });
    await this.finish();
  }

  /** Syncs the file to disk and closes it; it is still hidden. */
  async finish(): Promise<void> {
    try {
      await this.handle!.sync();
      await this.close();
    } catch (cause) {
      throw accessError(this.target, 'write', cause);
    }
  }

  /** Gives a finished file its name, in one step. */
  async commit(): Promise<void> {
    try {
      await rename(this.path, this.target);
    } catch (cause) {
      throw accessError(this.target, 'write', cause);
    }
  }

  /** Removes the file. Safe to call after a failure in any other method, and after `commit`. */
  async discard(): Promise<void> {
    // Report the error that led here, not a second one from cleaning up.
    await this.close().catch(() => {});
    await unlink(this.path).catch(() => {});
  }

  private async close(): Promise<void> {
    const { handle } = this;
    this.handle = null;
    await handle?.close();
  }
}
