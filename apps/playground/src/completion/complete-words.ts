import type { Command, Option } from 'commander';
import { localModels } from '../models/local-models.js';
import { PATH_FLAG } from '../options.js';

/** A word that may come next. */
export interface CompletedWord {
  readonly name: string;
  /** One sentence. */
  readonly description?: string;
}

/** Arguments that are models. */
const MODEL_ARGUMENTS: ReadonlySet<string> = new Set(['model', 'dir', 'path', 'source']);
const PATH_ARGUMENTS: ReadonlySet<string> = new Set(['file', 'target', 'adapter']);

/**
 * What may stand at the end of a command line. Commands and options come from the program itself, names of models from
 * this machine.
 *
 * @param words the line so far, without the name of the program; the last one is incomplete
 * @returns the words that fit, or `files` if the shell should complete names of files
 */
export async function completeWords(
  program: Command,
  words: readonly string[],
): Promise<readonly CompletedWord[] | 'files'> {
  const begun = words.at(-1) ?? '';
  const found = await candidates(program, words.slice(0, -1), begun);
  return found === 'files' ? found : found.filter(({ name }) => name.startsWith(begun));
}

async function candidates(
  program: Command,
  before: readonly string[],
  begun: string,
): Promise<readonly CompletedWord[] | 'files'> {
  const [name, ...rest] = before;
  if (name === undefined) return begun.startsWith('-') ? optionsOf(program) : commandsOf(program);
  const command = program.commands.find((each) => each.name() === name || each.aliases().includes(name));
  if (!command) return [];
  const option = command.options.find(({ long }) => long === rest.at(-1));
  if (option && (option.required || option.optional)) return valuesOf(option, begun);
  if (begun.startsWith('-')) return optionsOf(command);
  const given = rest.filter((word, index) => !word.startsWith('-') && !takesValue(command, rest[index - 1]));
  const argument = command.registeredArguments[given.length] ?? command.registeredArguments.at(-1);
  if (
    !argument ||
    (given.length > 0 && command.registeredArguments.length <= given.length && !argument.variadic)
  ) {
    return [];
  }
  if (argument.argChoices) return argument.argChoices.map((choice) => ({ name: choice }));
  if (MODEL_ARGUMENTS.has(argument.name())) return modelsOrFiles(begun);
  return PATH_ARGUMENTS.has(argument.name()) ? 'files' : [];
}

function valuesOf(
  option: Option,
  begun: string,
): Promise<readonly CompletedWord[] | 'files'> | readonly CompletedWord[] | 'files' {
  if (option.argChoices) return option.argChoices.map((choice) => ({ name: choice }));
  if (option.long === '--model') return modelsOrFiles(begun);
  return PATH_FLAG.test(option.flags) ? 'files' : [];
}

async function modelsOrFiles(begun: string): Promise<readonly CompletedWord[] | 'files'> {
  if (/^[./~]/.test(begun)) return 'files';
  const models = (await localModels()).map(({ name, format }) => ({ name, description: format }));
  return models.some(({ name }) => name.startsWith(begun)) ? models : 'files';
}

function takesValue(command: Command, word: string | undefined): boolean {
  const option = command.options.find(({ long }) => long === word);
  return option !== undefined && (option.required || option.optional);
}

function commandsOf(program: Command): CompletedWord[] {
  return program
    .createHelp()
    .visibleCommands(program)
    .map((command) => ({ name: command.name(), description: firstSentence(command.description()) }));
}

function optionsOf(command: Command): CompletedWord[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => ({
      name: long ?? short ?? '',
      description: firstSentence(description),
    }));
}

function firstSentence(text: string): string {
  return (/^[^.:;]+/.exec(text)?.[0] ?? text).trim();
}
