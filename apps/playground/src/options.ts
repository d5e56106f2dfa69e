import { type Command, InvalidArgumentError, Option } from 'commander';
import { homePath } from './home-path.js';

/** Parses an integer in [minimum, maximum]. */
export function integer(minimum: number, maximum = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
    return inRange(value, minimum, maximum, 'a whole number');
  };
}

/** Parses a number in [minimum, maximum]. */
export function real(minimum: number, maximum = Number.MAX_VALUE): (text: string) => number {
  return (text) => inRange(text.trim() === '' ? Number.NaN : Number(text), minimum, maximum, 'a number');
}

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };

/** Parses a number of bytes, such as 500MB or 20GB. */
export function bytes(text: string): number {
  const [, count, unit] = /^(\d+(?:\.\d+)?)\s*([kmgt]?)b?$/i.exec(text.trim()) ?? [];
  if (count !== undefined) return Math.floor(Number(count) * UNITS[unit!.toLowerCase()]!);
  throw new InvalidArgumentError('Expected a number of bytes, such as 500MB or 20GB.');
}

/** Accepts any text that is not empty. */
export function nonEmpty(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('Expected text, received none.');
}

/** Parses comma-separated integers, each in [minimum, maximum]. */
export function integerList(minimum: number, maximum = Number.MAX_SAFE_INTEGER): (text: string) => number[] {
  const parse = integer(minimum, maximum);
  return (text) => text.split(',').map((part) => parse(part.trim()));
}

/** Parses comma-separated numbers, each in [minimum, maximum]. */
export function realList(minimum: number, maximum = Number.MAX_VALUE): (text: string) => number[] {
  const parse = real(minimum, maximum);
  return (text) => text.split(',').map((part) => parse(part.trim()));
}

/** Parses a repeatable option. */
export function repeated(text: string, previous: readonly string[]): string[] {
  return [...previous, text];
}

/** Parses a repeatable option `name=folder`. */
export function namedFolder(
  text: string,
  previous: Readonly<Record<string, string>>,
): Record<string, string> {
  const [, name, folder] = /^([\w.-]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined || folder === undefined) throw new InvalidArgumentError('Expected name=folder.');
  return { ...previous, [name]: homePath(folder) };
}

/** Options and arguments that are paths of files or folders. */
export const PATH_FLAG = /<(?:dir|file|path|out|folder)\b/;
/** The same for arguments, which have no brackets. */
const PATH_ARGUMENT = /^(?:dir|file|path|source|target|adapter|model)$/;

/** Replaces `~` at the start of options and arguments that are paths; a shell does it only at the start of a word. */
export function expandHomePaths(command: Command): void {
  for (const option of command.options) {
    if (!PATH_FLAG.test(option.flags)) continue;
    const name = option.attributeName();
    const value: unknown = command.getOptionValue(name);
    const expanded = expandedValue(value);
    if (expanded !== value)
      command.setOptionValueWithSource(name, expanded, command.getOptionValueSource(name)!);
  }
  command.registeredArguments.forEach((argument, index) => {
    if (PATH_ARGUMENT.test(argument.name()))
      command.processedArgs[index] = expandedValue(command.processedArgs[index]);
  });
}

function expandedValue(value: unknown): unknown {
  if (typeof value === 'string') return homePath(value);
  return Array.isArray(value) && value.some((item) => expandedValue(item) !== item)
    ? value.map(expandedValue)
    : value;
}

/** Formats of quantised weights. */
export const QUANTIZATION_MODES = ['affine', 'mxfp4', 'mxfp8', 'nvfp4'] as const;

/** The options of commands that run a model. */
export interface DeviceFlags {
  readonly device: 'auto' | 'cpu' | 'metal' | 'cuda' | 'metal-sim';
  readonly threads?: number;
  readonly precision: 'high' | 'fast';
}

/** Adds `--device`, `--threads` and `--precision`. */
export function addDeviceFlags(command: Command, precision: DeviceFlags['precision']): Command {
  return command
    .addOption(
      new Option('--device <kind>', 'device to run on')
        .choices(['auto', 'cpu', 'metal', 'cuda', 'metal-sim'])
        .default('auto'),
    )
    .option('--threads <n>', 'threads of the CPU backend (default: all cores)', integer(1, 256))
    .addOption(
      new Option(
        '--precision <mode>',
        'high: float32 everywhere; fast: reduced precision where the device benefits',
      )
        .choices(['high', 'fast'])
        .default(precision),
    );
}

function inRange(value: number, minimum: number, maximum: number, what: string): number {
  if (value >= minimum && value <= maximum) return value;
  const isUnbounded = maximum === Number.MAX_SAFE_INTEGER || maximum === Number.MAX_VALUE;
  throw new InvalidArgumentError(
    `Expected ${what} ${isUnbounded && !(value > maximum) ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`}.`,
  );
}
