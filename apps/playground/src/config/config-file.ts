import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { InvalidArgumentError, InvalidConfigError } from '@markbase/core';
import { homePath } from '../home-path.js';

/** Values of options: under `defaults` for all commands, under a command's name for that command. */
export interface ConfigFile {
  readonly path: string;
  /** By command, then by long option name without its dashes. */
  readonly sections: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Folders in which `markbase list` looks for checkpoints. */
  readonly models: readonly string[];
}

/** The section that applies to all commands with the option. */
export const COMMON_SECTION = 'defaults';

/** The key with folders of checkpoints. */
const MODELS_KEY = 'models';

const FILE_NAME = 'markbase.config.json';
const LONGEST_BYTES = 1 << 20;

/** Where config files are searched for, in this order; the first existing file is used. */
export function configPaths(env: NodeJS.ProcessEnv = process.env): string[] {
  if (env.MARKBASE_CONFIG) return [resolve(homePath(env.MARKBASE_CONFIG))];
  const home = env.XDG_CONFIG_HOME || join(homedir(), '.config');
  return [resolve(FILE_NAME), join(home, 'markbase', 'config.json')];
}

/**
 * Reads the config file.
 *
 * @returns null if there is none
 * @throws InvalidConfigError if the file is invalid; InvalidArgumentError if the file named by MARKBASE_CONFIG is missing
 */
export async function readConfigFile(env: NodeJS.ProcessEnv = process.env): Promise<ConfigFile | null> {
  for (const path of configPaths(env)) {
    try {
      return parseConfigFile(await readFile(path, 'utf8'), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      if (!env.MARKBASE_CONFIG) continue;
      throw new InvalidArgumentError({
        argument: 'MARKBASE_CONFIG',
        expected: 'the path of a file that exists, or an unset variable',
        received: path,
        cause: error,
      });
    }
  }
  return null;
}

/** @throws InvalidConfigError */
function parseConfigFile(text: string, path: string): ConfigFile {
  const fail = (key: string, expected: string, received: unknown): never => {
    throw new InvalidConfigError({ path, key, expected, received });
  };
  if (text.length > LONGEST_BYTES) fail('', 'at most a megabyte', `${text.length} characters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    fail('', 'JSON', (error as Error).message);
  }
  if (!isObject(value)) return fail('', 'an object with a section for each command', value);
  const { [MODELS_KEY]: models = [], ...sections } = value;
  if (!isTextList(models)) return fail(MODELS_KEY, 'a list of folders with checkpoints', models);
  for (const [name, section] of Object.entries(sections)) {
    if (!isObject(section)) fail(name, 'an object of options', section);
  }
  return { path, sections: sections as ConfigFile['sections'], models };
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
