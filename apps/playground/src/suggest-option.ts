import type { Command } from 'commander';
import { similarName } from './similar-name.js';

/** What other programs call options and commands. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  '-m': '--model',
  '-p': '--prompt',
  '-v': '--version',
  '-t': '--threads',
  '-n': '--max-tokens',
  '-c': '--context',
  '-s': '--system',
  '--ctx': '--context',
  '--ctx-size': '--context',
  '--num-ctx': '--context',
  '--max-context': '--context',
  '--n-predict': '--max-tokens',
  '--num-predict': '--max-tokens',
  '--max-new-tokens': '--max-tokens',
  '--tokens': '--max-tokens',
  '--temp': '--temperature',
  '--repeat-penalty': '--repetition-penalty',
  '--json-schema': '--schema',
  '--format': '--json',
  '--attachment': '--image',
  '--think': '--thinking',
  '--address': '--host',
  '--parallel': '--sequences',
  '--lora': '--adapter',
  '--output': '--out',
  download: 'pull',
  get: 'pull',
  remove: 'rm',
  delete: 'rm',
  models: 'list',
  show: 'inspect',
  info: 'inspect',
  start: 'serve',
  server: 'serve',
  web: 'playground',
  ui: 'playground',
  prompt: 'generate',
  convert: 'quantize',
  benchmark: 'bench',
};

/**
 * A message of the parser on one line, with what was probably meant by an unknown option or command.
 *
 * @param command whose options were parsed
 */
export function withSuggestion(message: string, command: Command): string {
  const line = message.trim().replaceAll('\n', ' ');
  const [, kind, wrong] = /unknown (option|command) '([^']+)'/.exec(line) ?? [];
  if (kind === undefined || wrong === undefined) return line;
  const known =
    kind === 'command'
      ? command.commands.flatMap((each) => [each.name(), ...each.aliases()])
      : [...command.options.map(({ long }) => long ?? ''), '--help'];
  const other = Object.hasOwn(OTHER_NAMES, wrong) ? OTHER_NAMES[wrong]! : null;
  const meant = other !== null && known.includes(other) ? other : similarName(wrong, known);
  return meant === null
    ? `${line}; see markbase ${helpOf(command)}--help`
    : `${line} (Did you mean ${meant}?)`;
}

function helpOf(command: Command): string {
  return command.parent ? `${command.name()} ` : '';
}
