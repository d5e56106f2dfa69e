import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError } from '@markbase/core';

/** Beginning of the names of what the loader leaves in a target until it is complete. */
const UNFINISHED = '.markbase-convert';

/**
 * Refuses a folder with files in it, which a checkpoint would be mixed with; a missing one is empty.
 *
 * @param argument what names the folder
 * @throws InvalidArgumentError
 */
export async function checkEmpty(folder: string, argument: string): Promise<void> {
  const [first, ...rest] = await entriesOf(folder);
  if (first === undefined) return;
  throw new InvalidArgumentError({
    argument,
    expected: 'a new or empty folder',
    received: folder,
    hint: `It contains ${rest.length + 1} files, such as ${first}: remove them, or choose another folder`,
  });
}

/**
 * The same for the target of a conversion, except that an interrupted one is continued. That source and target are the
 * same folder is what the loader reports.
 */
export async function checkTarget(source: string, target: string): Promise<void> {
  if (resolve(source) === resolve(target)) return;
  const isUnfinished = (await entriesOf(target)).some((name) => name.startsWith(UNFINISHED));
  if (!isUnfinished) await checkEmpty(target, 'target');
}

function entriesOf(folder: string): Promise<string[]> {
  return readdir(folder).catch((): string[] => []);
}
