import { readdir } from 'node:fs/promises';
import { homePath } from '../home-path.js';
import { SLASH_COMMANDS } from './slash-commands.js';

/**
 * What may follow in a line of a chat: names of commands, their words, and files.
 *
 * @returns the possible continuations, and the part of the line that they replace
 */
export async function completeLine(line: string): Promise<[string[], string]> {
  const [, name, argument] = /^\/(\S+)\s+(.*)$/s.exec(line) ?? [];
  if (name === undefined || argument === undefined) {
    const names = line.startsWith('/') ? Object.keys(SLASH_COMMANDS).map((command) => `/${command}`) : [];
    return [beginningWith(names, line), line];
  }
  const command = Object.hasOwn(SLASH_COMMANDS, name) ? SLASH_COMMANDS[name] : undefined;
  if (command?.words) return [beginningWith(command.words, argument), argument];
  return [command?.takesFile ? await files(argument) : [], argument];
}

function beginningWith(words: readonly string[], begun: string): string[] {
  return words.filter((word) => word.startsWith(begun));
}

/** Files and folders whose path begins as given; hidden ones only if asked for. */
async function files(begun: string): Promise<string[]> {
  const slash = begun.lastIndexOf('/') + 1;
  const [folder, name] = [begun.slice(0, slash), begun.slice(slash)];
  const entries = await readdir(homePath(folder) || '.', { withFileTypes: true });
  return entries
    .filter((entry) => entry.name.startsWith(name) && (name !== '' || !entry.name.startsWith('.')))
    .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .sort();
}
