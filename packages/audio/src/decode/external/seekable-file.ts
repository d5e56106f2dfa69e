import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AudioBytes } from '../audio-source.js';
import type { KeptBytes } from './kept-bytes.js';

/** A file in which a program can seek: containers may have their tables anywhere. */
export interface SeekableFile extends AsyncDisposable {
  readonly path: string;
}

/**
 * The file of a source: its own, or a temporary one with its bytes, which disposal removes.
 *
 * @param bytes those of the source, from its beginning
 */
export async function seekableFile(source: AudioBytes, bytes: KeptBytes): Promise<SeekableFile> {
  if (typeof source === 'string' || source instanceof URL) {
    const path = typeof source === 'string' ? resolve(source) : fileURLToPath(source);
    return { path, [Symbol.asyncDispose]: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), 'markbase-sound-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, 'sound');
    const file = await open(path, 'w');
    try {
      for await (const part of bytes.whole()) await file.write(part);
    } finally {
      await file.close();
    }
    return { path, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
