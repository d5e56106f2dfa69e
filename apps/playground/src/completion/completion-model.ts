import type { Command, Option } from 'commander';

/** Everything that a shell can complete. */
export interface CompletionModel {
  readonly program: string;
  readonly commands: readonly CompletedCommand[];
}

/** A command with its options. */
export interface CompletedCommand {
  readonly name: string;
  /** One sentence. */
  readonly description: string;
  readonly options: readonly CompletedOption[];
  /** Words that may follow the command itself. */
  readonly words: readonly string[];
}

/** An option and the values that may follow it. */
export interface CompletedOption {
  /** With its dashes. */
  readonly flag: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** null = any text. */
  readonly choices: readonly string[] | null;
  readonly isPath: boolean;
}

const PATH = /<(?:dir|file|path|out|folder)\b/;

/** Reads commands and options from the program itself, so that completion is always up to date. */
export function completionModel(program: Command): CompletionModel {
  return {
    program: program.name(),
    commands: program.commands.map((command) => ({
      name: command.name(),
      description: firstSentence(command.description()),
      options: [...command.options.map(completedOption), HELP],
      words: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    })),
  };
}

const HELP: CompletedOption = {
  flag: '--help',
  description: 'show help for the command',
  takesValue: false,
  choices: null,
  isPath: false,
};

function completedOption(option: Option): CompletedOption {
  return {
    flag: option.long ?? option.short ?? '',
    description: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? null,
    isPath: PATH.test(option.flags),
  };
}

function firstSentence(text: string): string {
  return (/^[^.:;]+/.exec(text)?.[0] ?? text).trim();
}
