import { InvalidConfigError } from '@markbase/core';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { COMMON_SECTION, type ConfigFile } from './config-file.js';

/**
 * Makes the values of a config file the defaults of the commands' options; options on the command line take precedence.
 *
 * @throws InvalidConfigError for unknown commands and options, and for invalid values
 */
export function applyConfig(program: Command, { path, sections }: ConfigFile): void {
  const commands = new Map(program.commands.map((command) => [command.name(), command]));
  for (const [name, section] of Object.entries(sections)) {
    if (name !== COMMON_SECTION && !commands.has(name)) {
      const expected = `"${COMMON_SECTION}" or the name of a command: ${[...commands.keys()].join(', ')}`;
      throw new InvalidConfigError({ path, key: name, expected, received: name });
    }
    const targets = name === COMMON_SECTION ? [...commands.values()] : [commands.get(name)!];
    for (const [key, value] of Object.entries(section)) {
      const where = { path, key: `${name}.${key}` };
      const taking = targets.filter((command) => optionOf(command, key));
      if (taking.length === 0) {
        throw new InvalidConfigError({
          ...where,
          expected: 'an option listed by --help, without its dashes',
          received: key,
        });
      }
      for (const command of taking) {
        // A command's own section takes precedence over the common one.
        if (name === COMMON_SECTION && sections[command.name()]?.[key] !== undefined) continue;
        const option = optionOf(command, key)!;
        command.setOptionValueWithSource(option.attributeName(), parsed(option, value, where), 'config');
      }
    }
  }
}

function optionOf(command: Command, key: string): Option | undefined {
  return command.options.find(({ long }) => long === `--${key}`);
}

function parsed(option: Option, value: unknown, where: { path: string; key: string }): unknown {
  const fail = (expected: string): never => {
    throw new InvalidConfigError({ ...where, expected, received: value });
  };
  if (option.isBoolean()) {
    if (typeof value !== 'boolean') return fail('true or false');
    // "no-open": true means the same as --no-open.
    return option.negate ? !value : value;
  }
  const values: unknown[] = Array.isArray(value) ? value : [value];
  if (!values.every((item) => typeof item === 'string' || typeof item === 'number')) {
    return fail('a string or a number, or a list of them');
  }
  if (Array.isArray(value) && !Array.isArray(option.defaultValue)) return fail('a single value');
  try {
    const parse = option.parseArg as ((text: string, previous: unknown) => unknown) | undefined;
    return values.reduce<unknown>(
      (previous, item) => (parse ? parse(String(item), previous) : String(item)),
      option.defaultValue,
    );
  } catch (error) {
    if (error instanceof InvalidArgumentError) return fail(error.message);
    throw error;
  }
}
