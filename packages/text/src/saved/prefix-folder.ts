import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { CorruptFileError, FileAccessError } from '@markbase/core';
import { BlockFileReader, type SavedBlock } from './block-file.js';
import type { CacheIdentity } from './cache-identity.js';

/** A file of blocks in the folder. */
interface FolderFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  lastUse: number;
  /** Names of its blocks; none if they belong to another model, or cannot be read. */
  readonly names: readonly string[];
}

/** A block in a file. */
export interface FolderBlock {
  readonly name: string;
  readonly parent: string;
  readonly file: FolderFile;
  /** Index in the file. */
  readonly index: number;
  readonly hasSliding: boolean;
}

const EXTENSION = '.blocks';
/** Unfinished files older than this were left by a process that has ended. */
const STALE_MS = 60_000;

/** Files of cache blocks in a folder, within a budget of bytes: the least recently used files leave. */
export class PrefixFolder {
  readonly directory: string;
  readonly maxBytes: number;
  readonly #warn: (message: string) => void;
  readonly #files = new Map<string, FolderFile>();
  readonly #blocks = new Map<string, FolderBlock>();
  readonly #children = new Map<string, FolderBlock[]>();
  #sizeBytes = 0;

  constructor(directory: string, maxBytes: number, warn: (message: string) => void) {
    this.directory = directory;
    this.maxBytes = maxBytes;
    this.#warn = warn;
  }

  /** Bytes of all files. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /**
   * Reads what the folder has of a model. Damaged files are left out with a warning, and files of other models without
   * one; both leave in their turn.
   *
   * @throws FileAccessError if the folder cannot be created or read
   */
  async open(identity: CacheIdentity): Promise<void> {
    const names = await this.#list();
    for (const name of names) {
      const file = path.join(this.directory, name);
      const info = await stat(file).catch(() => null);
      if (!info?.isFile()) continue;
      if (name.endsWith('.partial') && Date.now() - info.mtimeMs > STALE_MS) await rm(file, { force: true });
      if (!name.endsWith(EXTENSION)) continue;
      this.#add(file, info.size, info.mtimeMs, await this.#blocksOf(file, identity));
    }
    await this.makeRoom(0);
  }

  /** The block of this name. */
  find(name: string): FolderBlock | undefined {
    return this.#blocks.get(name);
  }

  /** The blocks after one of this name. */
  childrenOf(parent: string): readonly FolderBlock[] {
    return this.#children.get(parent) ?? [];
  }

  /** Where a file whose last block has this name goes. */
  pathOf(name: string): string {
    return path.join(this.directory, `${name}${EXTENSION}`);
  }

  /** A file was written. */
  added(file: string, sizeBytes: number, blocks: readonly SavedBlock[]): void {
    this.#forget(file);
    this.#add(file, sizeBytes, Date.now(), blocks);
  }

  /** Marks the files of blocks as used now. */
  async use(blocks: Iterable<FolderBlock>): Promise<void> {
    const now = Date.now();
    for (const file of new Set([...blocks].map((block) => block.file))) {
      file.lastUse = now;
      await utimes(file.path, now / 1000, now / 1000).catch(() => {});
    }
  }

  /** Leaves out the file of a block that could not be read. */
  reject({ file }: FolderBlock, error: unknown): void {
    this.#warnOf(file.path, error);
    this.#forget(file.path);
    this.#add(file.path, file.sizeBytes, file.lastUse, []);
  }

  /** Removes the least recently used files until `bytes` more fit; false if they never do. */
  async makeRoom(bytes: number): Promise<boolean> {
    if (bytes > this.maxBytes) return false;
    for (const file of [...this.#files.values()].sort((a, b) => a.lastUse - b.lastUse)) {
      if (this.#sizeBytes + bytes <= this.maxBytes) break;
      this.#forget(file.path);
      await rm(file.path, { force: true });
    }
    return true;
  }

  async #list(): Promise<string[]> {
    try {
      await mkdir(this.directory, { recursive: true });
      return await readdir(this.directory);
    } catch (error) {
      const { message } = error as Error;
      throw new FileAccessError({ path: this.directory, operation: 'read', reason: message, cause: error });
    }
  }

  async #blocksOf(file: string, identity: CacheIdentity): Promise<readonly SavedBlock[]> {
    try {
      const reader = await BlockFileReader.open(file);
      await reader.close();
      return JSON.stringify(reader.index.identity) === JSON.stringify(identity) ? reader.index.blocks : [];
    } catch (error) {
      this.#warnOf(file, error);
      return [];
    }
  }

  /** Another process may have removed the file; that is no reason for a warning. */
  #warnOf(file: string, error: unknown): void {
    if (error instanceof FileAccessError) return;
    const reason = error instanceof CorruptFileError ? error.message : `${file}: ${(error as Error).message}`;
    this.#warn(`a file of saved prefixes is ignored: ${reason}`);
  }

  #add(file: string, sizeBytes: number, lastUse: number, blocks: readonly SavedBlock[]): void {
    const entry: FolderFile = { path: file, sizeBytes, lastUse, names: blocks.map(({ name }) => name) };
    this.#files.set(file, entry);
    this.#sizeBytes += sizeBytes;
    for (const [index, { name, parent, sliding }] of blocks.entries()) {
      const block = { name, parent, file: entry, index, hasSliding: sliding !== null };
      this.#blocks.set(name, block);
      this.#children.set(parent, [...this.childrenOf(parent), block]);
    }
  }

  #forget(file: string): void {
    const entry = this.#files.get(file);
    if (!entry) return;
    this.#files.delete(file);
    this.#sizeBytes -= entry.sizeBytes;
    for (const name of entry.names) {
      const block = this.#blocks.get(name);
      if (block?.file !== entry) continue;
      this.#blocks.delete(name);
      const left = this.childrenOf(block.parent).filter((other) => other !== block);
      if (left.length > 0) this.#children.set(block.parent, left);
      else this.#children.delete(block.parent);
    }
  }
}
