import { createHash } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { CorruptFileError, FileAccessError, InvalidArgumentError } from '@markbase/core';
import type { CacheIdentity } from './cache-identity.js';

/** What is stored of one block of positions. Keys have the form of `savedKey`. */
export interface SavedBlock {
  /** Identifies the block and all before it. */
  readonly name: string;
  /** The name of the block before it. */
  readonly parent: string;
  readonly keys: readonly (number | string)[];
  readonly visibleEnds: readonly number[];
  readonly exactCount: number;
  /** Where the keys and values of full layers are, and their checksum. */
  readonly full: SavedRecord;
  /** Those of sliding layers; null if they had been given up. */
  readonly sliding: SavedRecord | null;
}

/** Bytes in a file. */
export interface SavedRecord {
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  readonly checksum: string;
}

/** What a file says of its records. */
export interface BlockFileIndex {
  readonly identity: CacheIdentity;
  readonly blocks: readonly SavedBlock[];
  /** The messages of a conversation; see `messagesToJson`. */
  readonly conversation?: unknown;
}

/** Raised when the layout of files changes, or what the bytes of a block mean. */
const VERSION = 1;
const MAGIC = Buffer.from('markbase blocks\n', 'latin1');
const PRELUDE_BYTES = MAGIC.length + 8;
/** Checksum of prelude and index, length of the index, and the magic again. */
const TRAILER_BYTES = 32 + 8 + MAGIC.length;
const MAX_INDEX_BYTES = 512 * 2 ** 20;

/** Writes records and then their index. Only a complete file gets its name, so that no reader ever sees a part of one. */
export class BlockFileWriter {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #partialPath: string;
  #sizeBytes = 0;

  private constructor(file: FileHandle, target: string, partialPath: string) {
    this.#file = file;
    this.#path = target;
    this.#partialPath = partialPath;
  }

  /** @throws FileAccessError */
  static async create(target: string): Promise<BlockFileWriter> {
    const partialPath = `${target}.${process.pid}.partial`;
    const file = await open(partialPath, 'w').catch((error: Error) =>
      Promise.reject(cannot('write', target, error)),
    );
    const writer = new BlockFileWriter(file, target, partialPath);
    try {
      await writer.#write(prelude());
      return writer;
    } catch (error) {
      await writer.abandon();
      throw error;
    }
  }

  /** Adds a record. */
  async append(bytes: Uint8Array): Promise<SavedRecord> {
    const record = { offsetBytes: this.#sizeBytes, sizeBytes: bytes.length, checksum: checksumOf(bytes) };
    await this.#write(bytes);
    return record;
  }

  /** Writes the index and waits until the disk has everything; then the file is there. Returns its size in bytes. */
  async finish(index: BlockFileIndex): Promise<number> {
    const json = Buffer.from(JSON.stringify(index));
    const trailer = Buffer.alloc(TRAILER_BYTES);
    createHash('sha256').update(prelude()).update(json).digest().copy(trailer);
    trailer.writeBigUInt64LE(BigInt(json.length), 32);
    MAGIC.copy(trailer, 40);
    await this.#write(json);
    await this.#write(trailer);
    try {
      await this.#file.sync();
      await this.#file.close();
      await rename(this.#partialPath, this.#path);
    } catch (error) {
      throw cannot('write', this.#path, error as Error);
    }
    await syncFolder(path.dirname(this.#path));
    return this.#sizeBytes;
  }

  /** Removes what was written. */
  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {});
    await rm(this.#partialPath, { force: true });
  }

  async #write(bytes: Uint8Array): Promise<void> {
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.#sizeBytes);
        done += bytesWritten;
        this.#sizeBytes += bytesWritten;
      }
    } catch (error) {
      throw cannot('write', this.#path, error as Error);
    }
  }
}

/** Reads a file of blocks. */
export class BlockFileReader {
  readonly path: string;
  readonly index: BlockFileIndex;
  readonly #file: FileHandle;

  private constructor(file: FileHandle, source: string, index: BlockFileIndex) {
    this.#file = file;
    this.path = source;
    this.index = index;
  }

  /**
   * Reads and checks the index; records are checked when they are read.
   *
   * @throws FileAccessError; CorruptFileError; InvalidArgumentError for a file of another version
   */
  static async open(source: string): Promise<BlockFileReader> {
    const file = await open(source, 'r').catch((error: Error) =>
      Promise.reject(cannot('read', source, error)),
    );
    try {
      return new BlockFileReader(file, source, await readIndex(file, source));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The bytes of a record. @throws CorruptFileError if they are not those that were written */
  async read({ offsetBytes, sizeBytes, checksum }: SavedRecord): Promise<Uint8Array> {
    const bytes = await readBytes(this.#file, this.path, offsetBytes, sizeBytes);
    if (checksumOf(bytes) === checksum) return bytes;
    throw corrupt(this.path, 'RecordChecksum', 'a record differs from its checksum', offsetBytes);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function readIndex(file: FileHandle, source: string): Promise<BlockFileIndex> {
  const { size } = await file.stat();
  const head = await readBytes(file, source, 0, Math.min(size, PRELUDE_BYTES));
  if (!MAGIC.equals(head.subarray(0, MAGIC.length))) {
    throw corrupt(source, 'BlockFileMagic', 'this is not a file of cache blocks', 0);
  }
  const version = size < PRELUDE_BYTES ? -1 : head.readUInt32LE(MAGIC.length);
  if (version >= 0 && version !== VERSION) {
    throw new InvalidArgumentError({
      argument: 'file',
      expected: `${source} in version ${VERSION} of the format`,
      received: `version ${version}`,
      hint: 'Save it again with this version of the engine',
    });
  }
  const end = size - TRAILER_BYTES;
  const trailer = await readBytes(file, source, Math.max(end, PRELUDE_BYTES), TRAILER_BYTES);
  const jsonBytes = Number(trailer.readBigUInt64LE(32));
  if (!MAGIC.equals(trailer.subarray(40)) || jsonBytes > Math.min(end - PRELUDE_BYTES, MAX_INDEX_BYTES)) {
    throw corrupt(source, 'BlockFileEnd', 'the file was cut off', size);
  }
  const json = await readBytes(file, source, end - jsonBytes, jsonBytes);
  const checksum = createHash('sha256').update(head).update(json).digest();
  if (!checksum.equals(trailer.subarray(0, 32))) {
    throw corrupt(source, 'IndexChecksum', 'the index differs from its checksum', end - jsonBytes);
  }
  const index = JSON.parse(json.toString()) as BlockFileIndex;
  const offset = end - jsonBytes;
  if (!isIndex(index, offset)) throw corrupt(source, 'IndexForm', 'the index contradicts itself', offset);
  return index;
}

/** True if all blocks are complete and their records lie before the index. */
function isIndex({ identity, blocks }: BlockFileIndex, endBytes: number): boolean {
  if (!Array.isArray(identity?.blockBytes) || !Array.isArray(blocks)) return false;
  const isRecord = ({ offsetBytes, sizeBytes }: SavedRecord, kind: 0 | 1) =>
    offsetBytes >= PRELUDE_BYTES &&
    offsetBytes + sizeBytes <= endBytes &&
    sizeBytes === identity.blockBytes[kind];
  return blocks.every(({ keys, visibleEnds, full, sliding }) => {
    const isWhole = keys.length > 0 && keys.length === visibleEnds.length;
    return isWhole && isRecord(full, 0) && (sliding === null || isRecord(sliding, 1));
  });
}

async function readBytes(file: FileHandle, source: string, offset: number, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size);
  for (let done = 0; done < size; ) {
    const { bytesRead } = await file.read(bytes, done, size - done, offset + done);
    if (bytesRead === 0) throw corrupt(source, 'BlockFileEnd', 'the file was cut off', offset + done);
    done += bytesRead;
  }
  return bytes;
}

function prelude(): Buffer {
  const bytes = Buffer.alloc(PRELUDE_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(VERSION, MAGIC.length);
  return bytes;
}

/** 128 bits are enough to find damage. */
function checksumOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

/** A renamed file stays renamed after a loss of power. Systems that cannot do this do not need it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

function corrupt(source: string, rule: string, reason: string, offsetBytes: number): CorruptFileError {
  return new CorruptFileError({ rule, path: source, reason, offsetBytes });
}

function cannot(operation: string, target: string, cause: Error): FileAccessError {
  return new FileAccessError({ path: target, operation, reason: cause.message, cause });
}
