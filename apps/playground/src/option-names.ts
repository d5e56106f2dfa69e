import { resolve } from 'node:path';
import {
  type ContextLengthError,
  type CorruptFileError,
  hasErrorCode,
  InvalidArgumentError,
} from '@markbase/core';
import type { Command, Option } from 'commander';

/** Options whose names differ from those of the packages' arguments. */
const OPTION_OF_ARGUMENT: Readonly<Record<string, string>> = {
  contextTokens: '--context',
  maxSequences: '--sequences',
  maxFrames: '--video-frames',
  budget: '--image-tokens',
  kind: '--device',
  responseFormat: '--schema',
  allowedOrigins: '--allow-origin',
  allowedHosts: '--allow-host',
  allowedImageHosts: '--allow-image-host',
};
/** Options that change how much memory a model takes. */
const MEMORY_OPTIONS: ReadonlySet<string> = new Set(['--context', '--sequences', '--cache-gb']);
/** Shorter values would be found in almost any message. */
const SHORTEST_VALUE = 3;

/** The same error, about the options of the command that failed instead of the arguments of the packages. */
export function withOptionNames(error: unknown, command: Command): unknown {
  if (error instanceof InvalidArgumentError) return renamed(error, command);
  if (hasErrorCode(error, 'CONTEXT_LENGTH') && command.options.some(({ long }) => long === '--context')) {
    return (error as ContextLengthError).changedBy('pass a larger --context');
  }
  return error;
}

/** A message with the option to change, unless it names one: the option whose value it mentions, or those that take memory. */
export function withOptionHint(message: string, error: unknown, command: Command): string {
  const { options } = command;
  if (hasErrorCode(error, 'OUT_OF_MEMORY')) {
    const lower = options.flatMap(({ long }) => (long && MEMORY_OPTIONS.has(long) ? [long] : []));
    return lower.length > 0 ? `${message}; lower ${lower.join(' or ')}` : message;
  }
  const isTruncated =
    hasErrorCode(error, 'CORRUPT_FILE') && (error as CorruptFileError).rule === 'TruncatedAudio';
  if (isTruncated && options.some(({ long }) => long === '--truncated')) {
    return `${message}; --truncated accepts what there is`;
  }
  if (options.some(({ long }) => long && message.includes(long))) return message;
  const cause = options.find((option) => valuesOf(option, command).some((value) => message.includes(value)));
  return cause?.long ? `${cause.long}: ${message}` : message;
}

/** What the user gave for an option, and the paths that this means. */
function valuesOf(option: Option, command: Command): string[] {
  const name = option.attributeName();
  if (command.getOptionValueSource(name) === 'default') return [];
  const value: unknown = command.getOptionValue(name);
  const texts = (Array.isArray(value) ? value : [value]).filter((text) => typeof text === 'string');
  return texts.filter((text) => text.length >= SHORTEST_VALUE).flatMap((text) => [text, resolve(text)]);
}

function renamed(error: InvalidArgumentError, command: Command): InvalidArgumentError {
  const [, name = '', rest = ''] = /^([A-Za-z]+)(.*)$/s.exec(error.argument) ?? [];
  const long = OPTION_OF_ARGUMENT[name];
  const option = command.options.find(
    (candidate) => candidate.long === long || candidate.attributeName() === name,
  );
  if (option?.long) return error.renamed(`${option.long}${rest.replace(/^\.schema/, '')}`);
  const argument = command.registeredArguments.find((candidate) => candidate.name() === name);
  return argument ? error.renamed(`<${name}>`) : error;
}
