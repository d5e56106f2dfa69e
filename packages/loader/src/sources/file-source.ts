import type { FileHandle } from 'node:fs/promises';
import { CorruptFileError, FileAccessError } from '@markbase/core';
import { accessError, type FileIdentity, identityOf, readExactly, withFile } from '../files/file-access.js';
import type { ByteSource } from './byte-source.js';

/** A file by its path, opened for each read, so that nothing has to be closed. */
export class PathSource implements ByteSource {
  readonly sizeBytes: number;

  constructor(
    readonly label: string,
    private readonly identity: FileIdentity,
  ) {
    this.sizeBytes = identity.sizeBytes;
  }

  read(target: Uint8Array, offsetBytes: number): Promise<void> {
    return withFile(this.label, async (file, identity) => {
      checkSame(identity, this.identity, this.label);
      await readExactly(file, this.label, target, offsetBytes);
    });
  }
}

/** A file through a handle that somebody else opened and closes. */
export class HandleSource implements ByteSource {
  readonly sizeBytes: number;

  private constructor(
    private readonly file: FileHandle,
    readonly label: string,
    private readonly identity: FileIdentity,
  ) {
    this.sizeBytes = identity.sizeBytes;
  }

  /** @throws FileAccessError when the handle is closed or not of a regular file */
  static async of(file: FileHandle, label = `(file handle ${file.fd})`): Promise<HandleSource> {
    return new HandleSource(file, label, await handleIdentity(file, label));
  }

  async read(target: Uint8Array, offsetBytes: number): Promise<void> {
    checkSame(await handleIdentity(this.file, this.label), this.identity, this.label);
    try {
      await readExactly(this.file, this.label, target, offsetBytes);
    } catch (cause) {
      throw accessError(this.label, 'read', cause);
    }
  }
}

async function handleIdentity(file: FileHandle, label: string): Promise<FileIdentity> {
  // Node gives a closed handle the descriptor -1, and otherwise reports it in several ways.
  if (file.fd < 0)
    throw new FileAccessError({ path: label, operation: 'read', reason: 'the handle is closed' });
  try {
    return identityOf(await file.stat(), label);
  } catch (cause) {
    throw accessError(label, 'read', cause);
  }
}

function checkSame(now: FileIdentity, before: FileIdentity, path: string): void {
  const isSame =
    now.sizeBytes === before.sizeBytes && now.modifiedMs === before.modifiedMs && now.inode === before.inode;
  if (isSame) return;
  const reason = 'the file was changed or replaced since it was opened; open the checkpoint again';
  throw new CorruptFileError({ rule: 'FileChanged', path, reason });
}
