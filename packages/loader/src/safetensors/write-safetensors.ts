import { resolve } from 'node:path';
import { checkOptionNames, type OptionNames, ShapeMismatchError } from '@markbase/core';
import { TemporaryFile } from '../files/temporary-file.js';
import { type FileLayout, planFile } from './file-layout.js';
import { groupOf, type TensorGroup, type TensorSource } from './tensor-group.js';

/** Progress of a write, in bytes of the file or files. */
export interface WriteProgress {
  /** Bytes that have been written. */
  readonly writtenBytes: number;
  /** Bytes to write. */
  readonly totalBytes: number;
}

/** Options of both writers. */
export interface WriteOptions {
  /** Strings for `__metadata__`. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Aborts the work, which then throws the signal's reason; nothing is left at the target. */
  readonly signal?: AbortSignal;
  /** Called after every piece that was written. */
  onProgress?(progress: WriteProgress): void;
}

const OPTIONS: OptionNames<WriteOptions> = { metadata: true, signal: true, onProgress: true };

/**
 * Writes tensors into one safetensors file, as a stream.
 *
 * The file appears only when it is complete and on the disk; after a failure or an abort nothing is left. Tensors are
 * stored widest dtype first, then by name, each aligned for its dtype, regardless of their order here.
 *
 * @throws InvalidArgumentError for impossible tensors; ShapeMismatchError when a source yields more or fewer bytes than its shape needs; FileAccessError when the disk is full or the folder cannot be written; the signal's reason
 */
export async function writeSafetensors(
  path: string,
  tensors: Iterable<TensorSource>,
  options: WriteOptions = {},
): Promise<void> {
  checkOptionNames(options, OPTIONS);
  options.signal?.throwIfAborted();
  const groups = [...tensors].map(groupOf);
  const layout = planFile(
    groups.flatMap((group) => group.tensors),
    options.metadata ?? {},
  );
  const { totalBytes } = layout;
  let writtenBytes = 0;
  const file = await TemporaryFile.create(resolve(path));
  try {
    await fillFile(file, layout, groups, options.signal, (bytes) => {
      writtenBytes += bytes;
      options.onProgress?.({ writtenBytes, totalBytes });
    });
    await file.finish();
    options.signal?.throwIfAborted();
    await file.commit();
  } catch (error) {
    await file.discard();
    throw error;
  }
}

/** Writes header and tensors to their planned places; every tensor must come out at its exact size. */
export async function fillFile(
  file: Pick<TemporaryFile, 'write'>,
  layout: FileLayout,
  groups: readonly TensorGroup[],
  signal: AbortSignal | undefined,
  onWritten: (bytes: number, tensor: string) => void,
): Promise<void> {
  await file.write(layout.header, 0);
  onWritten(layout.header.length, '');
  for (const group of groups) {
    const written = group.tensors.map(() => 0);
    const check = (index: number, isDone: boolean): void => {
      const { name } = group.tensors[index]!;
      const { sizeBytes } = layout.tensors.get(name)!;
      if (isDone ? written[index] === sizeBytes : written[index]! <= sizeBytes) return;
      throw new ShapeMismatchError({
        operation: 'write',
        argument: name,
        expected: `${sizeBytes} bytes, as its shape says`,
        received: `${isDone ? '' : 'at least '}${written[index]} bytes`,
      });
    };
    for await (const { index, bytes } of group.chunks()) {
      signal?.throwIfAborted();
      const { name } = group.tensors[index]!;
      const start = layout.tensors.get(name)!.offsetBytes + written[index]!;
      written[index]! += bytes.length;
      check(index, false);
      await file.write(bytes, start);
      onWritten(bytes.length, name);
    }
    for (let index = 0; index < written.length; index++) check(index, true);
  }
}
