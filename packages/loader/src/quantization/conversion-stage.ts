import { type FileHandle, mkdir, open, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { accessError, isFile, writeFully } from '../files/file-access.js';
import { readText } from '../files/read-json.js';
import { TemporaryFile } from '../files/temporary-file.js';
import { specBytes } from '../safetensors/file-layout.js';
import type { TensorGroup } from '../safetensors/tensor-group.js';
import { fillFile } from '../safetensors/write-safetensors.js';
import type { Shard } from '../safetensors/write-sharded-checkpoint.js';

/** Name of the hidden folder inside the target that holds a conversion's files until it is complete. */
export const STAGE_FOLDER = '.markbase-convert';
/** Bytes after which the progress within a file is saved. */
const SYNC_BYTES = 256 * 1024 * 1024;
const PLAN_FILE = 'plan.json';
const COMMIT_FILE = 'commit';
const MAX_NOTE_BYTES = 16 * 1024 * 1024;

/** Called with the number of bytes done and the tensor that they belong to. */
type OnWritten = (bytes: number, tensor: string) => void;

/**
 * The files of a conversion in progress: complete ones under their names in a hidden folder, the current one with a note
 * that says how many of its groups are on disk. A process that is killed at any moment leaves a folder from which the next
 * one can continue; nothing is visible in the target before all files are complete.
 */
export class ConversionStage {
  /** Bytes of tensors that an earlier run wrote. */
  resumedBytes = 0;
  private readonly names: string[] = [];

  private constructor(
    private readonly directory: string,
    /** An earlier run had completed all files and begun to move them into place. */
    private readonly wasMoving: boolean,
    private readonly syncBytes: number,
  ) {}

  /**
   * Opens the folder of an earlier run, when `resume` is set and its fingerprint is the same, or an empty one.
   *
   * @param directory folder of the new checkpoint; created when missing
   */
  static async open(
    directory: string,
    fingerprint: string,
    resume: boolean,
    syncBytes = SYNC_BYTES,
  ): Promise<ConversionStage> {
    const folder = join(directory, STAGE_FOLDER);
    const plan = join(folder, PLAN_FILE);
    try {
      if (resume && (await isFile(plan)) && (await readText(plan, MAX_NOTE_BYTES)) === fingerprint) {
        return new ConversionStage(directory, await isFile(join(folder, COMMIT_FILE)), syncBytes);
      }
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
    } catch (cause) {
      throw accessError(folder, 'prepare', cause);
    }
    await writeText(plan, fingerprint);
    return new ConversionStage(directory, false, syncBytes);
  }

  /** Writes a weight file, or the missing part of it. */
  async writeShard(shard: Shard, signal: AbortSignal | undefined, onWritten: OnWritten): Promise<void> {
    const { name, layout, groups } = shard;
    this.names.push(name);
    const path = this.pathOf(name);
    const isDone = (await isFile(path)) || (this.wasMoving && (await isFile(join(this.directory, name))));
    if (isDone) {
      this.resumedBytes += layout.totalBytes - layout.header.length;
      onWritten(layout.totalBytes, '');
      return;
    }
    const partial = `${path}.partial`;
    const safeGroups = Math.min(await this.safeGroups(name), groups.length);
    const safeBytes = groups.slice(0, safeGroups).reduce((sum, group) => sum + groupBytes(group), 0);
    this.resumedBytes += safeBytes;
    onWritten(safeBytes, '');
    let handle: FileHandle | null = null;
    try {
      handle = await open(partial, safeGroups > 0 ? 'r+' : 'w');
      const file = handle;
      const noted = this.notedGroups(name, groups, safeGroups, file);
      const write = (bytes: Uint8Array, offset: number) => writeFully(file, bytes, offset);
      await fillFile({ write }, layout, noted, signal, onWritten);
      await file.sync();
      await file.close();
      handle = null;
      await rename(partial, path);
      await unlink(this.noteOf(name)).catch(() => {});
    } catch (cause) {
      throw accessError(path, 'write', cause);
    } finally {
      await handle?.close().catch(() => {});
    }
  }

  /** Adds a small file with this text. */
  async addText(name: string, text: string): Promise<void> {
    this.names.push(name);
    await writeText(this.pathOf(name), text);
  }

  /** Adds a copy of a file, if it exists. */
  async addCopy(name: string, source: string): Promise<void> {
    if (!(await isFile(source))) return;
    this.names.push(name);
    const file = await TemporaryFile.create(this.pathOf(name));
    try {
      await file.copyFrom(source);
      await file.commit();
    } catch (error) {
      await file.discard();
      throw error;
    }
  }

  /**
   * Moves all files into place, the one that was added last at the end.
   *
   * An older config.json goes first: a folder without one is not taken for a checkpoint, so that a mixture of old and new
   * files is not taken for one either.
   */
  async commit(): Promise<void> {
    await writeText(this.pathOf(COMMIT_FILE), '');
    try {
      await rm(join(this.directory, 'config.json'), { force: true });
      for (const name of this.names) {
        if (await isFile(this.pathOf(name))) await rename(this.pathOf(name), join(this.directory, name));
      }
    } catch (cause) {
      throw accessError(this.directory, 'write', cause);
    }
    await this.discard();
  }

  /** Removes the hidden folder. */
  async discard(): Promise<void> {
    await rm(join(this.directory, STAGE_FOLDER), { recursive: true, force: true });
  }

  private pathOf(name: string): string {
    return join(this.directory, STAGE_FOLDER, name);
  }

  private noteOf(name: string): string {
    return this.pathOf(`${name}.groups`);
  }

  /** How many groups of a partly written file are on disk. */
  private async safeGroups(name: string): Promise<number> {
    if (!(await isFile(this.noteOf(name))) || !(await isFile(`${this.pathOf(name)}.partial`))) return 0;
    const text = await readText(this.noteOf(name), 32);
    return /^\d{1,9}$/.test(text) ? Number(text) : 0;
  }

  /** The groups still to be written; from time to time they are synced to disk, and that is noted. */
  private notedGroups(
    name: string,
    groups: readonly TensorGroup[],
    begin: number,
    file: FileHandle,
  ): TensorGroup[] {
    let unsafeBytes = 0;
    const note = async (group: TensorGroup, doneGroups: number): Promise<void> => {
      unsafeBytes += groupBytes(group);
      if (unsafeBytes < this.syncBytes) return;
      unsafeBytes = 0;
      await file.datasync();
      await writeText(this.noteOf(name), String(doneGroups));
    };
    return groups.slice(begin).map((group, index) => ({
      tensors: group.tensors,
      async *chunks() {
        yield* group.chunks();
        // The writer asks for more once the last piece is written.
        await note(group, begin + index + 1);
      },
    }));
  }
}

function groupBytes({ tensors }: TensorGroup): number {
  return tensors.reduce((sum, tensor) => sum + specBytes(tensor), 0);
}

async function writeText(path: string, text: string): Promise<void> {
  const file = await TemporaryFile.create(path);
  try {
    await file.write(new TextEncoder().encode(text), 0);
    await file.finish();
    await file.commit();
  } catch (error) {
    await file.discard();
    throw error;
  }
}
