import { createInterface } from 'node:readline/promises';
import { InvalidArgumentError } from '@markbase/core';
import { removeCachedModel } from '@markbase/loader';
import { Command } from 'commander';
import { withInterrupt } from '../interrupt.js';
import { type LocalModel, localModels } from '../models/local-models.js';
import { formatBytes, printJson, printLines } from '../output.js';
import { similarName } from '../similar-name.js';

interface RmFlags {
  readonly yes: boolean;
  readonly json: boolean;
}

/** `markbase rm`: removes downloaded models. */
export function rmCommand(): Command {
  return new Command('rm')
    .description(
      'Remove downloaded models from the cache, after a question. Only files that markbase downloaded are removed; those ' +
        'of other tools and your own folders stay.',
    )
    .argument('<model...>', 'org/name, as "markbase list" shows it')
    .option('--yes', 'do not ask', false)
    .option('--json', 'print the result as JSON', false)
    .action(async (names: readonly string[], flags: RmFlags) => {
      const models = removable(names, await localModels());
      await withInterrupt(async (signal) => {
        if (!flags.yes && !(await confirmed(models, signal))) {
          printLines(['nothing was removed']);
          process.exitCode = 1;
          return;
        }
        const removed = [];
        for (const { name } of models) removed.push(await removeCachedModel(name, { signal }));
        if (flags.json) printJson({ removed });
        else printLines(removed.map(lineOf));
      });
    });
}

function lineOf({ repository, freedBytes, isGone }: Awaited<ReturnType<typeof removeCachedModel>>): string {
  const rest = isGone ? '' : '; files of another tool stay';
  return `removed ${repository}, ${formatBytes(freedBytes)}${rest}`;
}

const REASONS: Readonly<Record<LocalModel['kind'], (model: LocalModel) => string>> = {
  demo: () => 'It is part of markbase',
  cache: ({ directory }) => `Another tool downloaded it: remove it there, or delete ${directory}`,
  folder: ({ directory }) => `It is your own folder ${directory}`,
};

/** Checks all names before anything is removed. @throws InvalidArgumentError */
function removable(names: readonly string[], models: readonly LocalModel[]): LocalModel[] {
  const fail = (received: string, expected: string, hint?: string): never => {
    throw new InvalidArgumentError({ argument: 'model', expected, received, ...(hint && { hint }) });
  };
  return names.map((name) => {
    const wanted = name.toLowerCase();
    const model = models.find((each) => each.name.toLowerCase() === wanted);
    if (!model) {
      const meant = similarName(
        name,
        models.filter(({ isRemovable }) => isRemovable).map((each) => each.name),
      );
      return fail(
        name,
        'a model that "markbase list" shows',
        meant === null ? undefined : `Did you mean ${meant}?`,
      );
    }
    if (model.isRemovable) return model;
    return fail(name, 'a model that markbase downloaded', REASONS[model.kind](model));
  });
}

/** Asks on standard error. @throws InvalidArgumentError if nobody can answer */
async function confirmed(models: readonly LocalModel[], signal: AbortSignal): Promise<boolean> {
  const what = models.map(({ name, sizeBytes }) => `${name} (${formatBytes(sizeBytes)})`).join(', ');
  if (!process.stdin.isTTY) {
    throw new InvalidArgumentError({
      argument: '--yes',
      expected: 'this option where nobody can be asked',
      received: 'no terminal',
    });
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`remove ${what}? [y/N] `, { signal })).trim());
  } finally {
    lines.close();
  }
}
