import { type ParseArgsConfig, parseArgs } from 'node:util';
import { InvalidArgumentError, MarkBaseError } from '@markbase/core';
import { diff, validate } from './check-commands.js';
import { inspect } from './inspect-command.js';
import { type CliOutput, parseBytes, printable } from './output.js';
import { USAGE } from './usage.js';
import { convert, download, parseRule, shard } from './write-commands.js';

/** Status of the process: done; a check failed; the command itself failed. */
export type ExitCode = 0 | 1 | 2;

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;
const COMMON = { json: FLAG, help: FLAG } as const;
const DEFAULT_SHARD_SIZE = '5GiB';

/** A command: how many paths it takes, its options, and what it does with them. */
interface Command {
  readonly positionals: number;
  readonly options: NonNullable<ParseArgsConfig['options']>;
  run(paths: readonly string[], values: Values, output: CliOutput, signal?: AbortSignal): Promise<ExitCode>;
}

/** Options as they were parsed. */
class Values {
  constructor(private readonly values: Readonly<Record<string, unknown>>) {}

  text(name: string): string | undefined {
    return this.values[name] as string | undefined;
  }

  texts(name: string): string[] {
    return (this.values[name] as string[] | undefined) ?? [];
  }

  flag(name: string): boolean | undefined {
    return this.values[name] as boolean | undefined;
  }

  count(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    return /^\d{1,9}$/.test(text) ? Number(text) : refuse(name, 'a whole number', text);
  }

  bytes(name: string, fallback?: string): number | undefined {
    const text = this.text(name) ?? fallback;
    if (text === undefined) return undefined;
    return parseBytes(text) ?? refuse(name, 'a size such as 500MB or 16GiB', text);
  }

  choice<T extends string>(name: string, ...choices: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    return choices.find((choice) => choice === text) ?? refuse(name, choices.join(' or '), text);
  }
}

const COMMANDS: Readonly<Record<string, Command>> = {
  inspect: {
    positionals: 1,
    options: {
      tensors: FLAG,
      memory: TEXT,
      context: TEXT,
      sequences: TEXT,
      precision: TEXT,
      revision: TEXT,
    },
    async run([path = ''], values, output, signal) {
      const estimate = {
        contextTokens: values.count('context'),
        sequences: values.count('sequences'),
        precision: values.choice('precision', 'fast', 'high'),
        memoryBytes: values.bytes('memory'),
      };
      const tensors = values.flag('tensors');
      const json = values.flag('json');
      await inspect({ path, tensors, json, revision: values.text('revision'), estimate, signal }, output);
      return 0;
    },
  },
  validate: {
    positionals: 1,
    options: { values: FLAG },
    async run([path = ''], values, output, signal) {
      const request = { path, values: values.flag('values'), json: values.flag('json'), signal };
      return (await validate(request, output)) ? 0 : 1;
    },
  },
  diff: {
    positionals: 2,
    options: { headers: FLAG },
    async run([left = '', right = ''], values, output, signal) {
      const request = { left, right, headers: values.flag('headers'), json: values.flag('json'), signal };
      return (await diff(request, output)) ? 0 : 1;
    },
  },
  convert: {
    positionals: 2,
    options: {
      mode: TEXT,
      bits: TEXT,
      'group-size': TEXT,
      rule: { type: 'string', multiple: true },
      towers: TEXT,
      'max-shard-size': TEXT,
      resume: FLAG,
    },
    async run([source = '', target = ''], values, output, signal) {
      const request = {
        source,
        target,
        mode: values.choice('mode', 'affine', 'mxfp4', 'mxfp8', 'nvfp4'),
        bits: values.count('bits'),
        groupSize: values.count('group-size'),
        rules: values.texts('rule').map(parseRule),
        towers: values.choice('towers', 'keep', 'quantize'),
        maxShardBytes: values.bytes('max-shard-size'),
        resume: values.flag('resume'),
        json: values.flag('json'),
        signal,
      };
      await convert(request, output);
      return 0;
    },
  },
  shard: {
    positionals: 2,
    options: { 'max-shard-size': TEXT },
    async run([source = '', target = ''], values, output, signal) {
      const maxShardBytes = values.bytes('max-shard-size', DEFAULT_SHARD_SIZE)!;
      await shard({ source, target, maxShardBytes, json: values.flag('json'), signal }, output);
      return 0;
    },
  },
  download: {
    positionals: 1,
    options: { revision: TEXT, 'cache-dir': TEXT, offline: FLAG },
    async run([repository = ''], values, output, signal) {
      const request = {
        repository,
        revision: values.text('revision'),
        cacheDir: values.text('cache-dir'),
        offline: values.flag('offline'),
        json: values.flag('json'),
        signal,
      };
      await download(request, output);
      return 0;
    },
  },
};

/**
 * Runs the command line. Errors become one line on `err`.
 *
 * @param args arguments after the name of the program
 * @param version that `--version` prints
 */
export async function runCli(
  args: readonly string[],
  output: CliOutput,
  version: string,
  signal?: AbortSignal,
): Promise<ExitCode> {
  const [name = '--help', ...rest] = args;
  if (name === '--help' || name === '-h' || name === 'help') return say(output, USAGE);
  if (name === '--version' || name === '-v') return say(output, `${version}\n`);
  try {
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]! : null;
    if (command === null) return refuse('command', Object.keys(COMMANDS).join(', '), name);
    const { values, positionals } = parse(command, rest);
    if (values.help === true) return say(output, USAGE);
    if (positionals.length !== command.positionals) {
      return refuse(name, `${command.positionals} path${command.positionals === 1 ? '' : 's'}`, positionals);
    }
    return await command.run(positionals, new Values(values), output, signal);
  } catch (error) {
    if (signal?.aborted) return fail(output, 'interrupted');
    if (MarkBaseError.isInstance(error)) return fail(output, error.message);
    throw error;
  }
}

function parse(command: Command, args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { ...command.options, ...COMMON },
      allowPositionals: true,
      strict: true,
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidArgumentError({
      argument: 'options',
      expected: 'those of --help',
      received: reason,
      cause,
    });
  }
}

function say(output: CliOutput, text: string): ExitCode {
  output.out(text);
  return 0;
}

function fail(output: CliOutput, message: string): ExitCode {
  output.err(`markbase-loader: ${printable(message)}\n`);
  return 2;
}

function refuse(argument: string, expected: string, received: unknown): never {
  throw new InvalidArgumentError({ argument, expected, received });
}
