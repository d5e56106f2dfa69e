import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { FileAccessError, InvalidArgumentError } from '@markbase/core';
import { systemReason } from './errors.js';
import { homePath } from './home-path.js';

/** The text of a file; `-` is standard input. @throws FileAccessError */
export async function readTextFile(path: string): Promise<string> {
  try {
    return path === '-' ? await text(process.stdin) : await readFile(homePath(path), 'utf8');
  } catch (cause) {
    throw new FileAccessError({ path, operation: 'read', reason: systemReason(cause), cause });
  }
}

/**
 * The content of a JSON file; `-` is standard input.
 *
 * @param what the argument that names it, and what it should contain
 * @throws FileAccessError; InvalidArgumentError if it is not JSON
 */
export async function readJsonFile<Content>(
  path: string,
  what: { readonly argument: string; readonly expected: string },
): Promise<Content> {
  const source = await readTextFile(path);
  try {
    return JSON.parse(source) as Content;
  } catch (cause) {
    const received = cause instanceof Error ? cause.message : source.slice(0, 40);
    throw new InvalidArgumentError({ ...what, received, cause });
  }
}
