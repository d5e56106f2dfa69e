import { InvalidArgumentError } from '@markbase/core';
import { downloadCheckpoint, isRepositoryName } from '@markbase/loader';
import { Command } from 'commander';
import { withInterrupt } from '../interrupt.js';
import { localModels } from '../models/local-models.js';
import { nonEmpty } from '../options.js';
import { formatBytes, printJson, printLines } from '../output.js';
import { startProgress } from '../progress.js';
import { similarName } from '../similar-name.js';

interface PullFlags {
  readonly revision?: string;
  readonly json: boolean;
}

/** `markbase pull`: downloads a model into the shared cache. */
export function pullCommand(): Command {
  return new Command('pull')
    .description(
      'Download a model from the Hugging Face hub into its cache, which other tools share. Ctrl-C stops; the same command ' +
        'continues where it stopped. HF_TOKEN is used for gated models, HF_ENDPOINT for another hub.',
    )
    .argument('<model>', 'org/name on the hub')
    .option('--revision <name>', 'branch, tag or commit (default: main)', nonEmpty)
    .option('--json', 'print the result as JSON', false)
    .action(async (model: string, { revision, json }: PullFlags) => {
      await checkName(model);
      const progress = startProgress(`downloading ${model}`);
      progress.say(`looking for ${model}`);
      try {
        const { directory, commit, receivedBytes } = await withInterrupt((signal) =>
          downloadCheckpoint(model, {
            signal,
            ...(revision !== undefined && { revision }),
            onProgress: ({ phase, doneBytes, totalBytes, file }) => {
              if (phase === 'downloading') progress.update(doneBytes, totalBytes, file);
              else progress.say('waiting for another process that downloads the same model');
            },
          }),
        );
        progress.finish();
        if (json) printJson({ model, directory, commit, receivedBytes });
        else printLines(doneLines(model, directory, receivedBytes));
      } finally {
        progress.finish();
      }
    });
}

function doneLines(model: string, directory: string, receivedBytes: number): string[] {
  const what = receivedBytes > 0 ? `downloaded ${formatBytes(receivedBytes)}` : 'nothing to download';
  return [`${model}: ${what}; it is in ${directory}`, `chat with it: markbase run ${model}`];
}

/** @throws InvalidArgumentError */
async function checkName(model: string): Promise<void> {
  if (isRepositoryName(model)) return;
  const known = (await localModels()).filter(({ kind }) => kind === 'cache').map(({ name }) => name);
  const meant = similarName(model, known);
  throw new InvalidArgumentError({
    argument: 'model',
    expected: 'org/name on the hub, such as google/gemma-4-E2B-it',
    received: model,
    ...(meant !== null && { hint: `Did you mean ${meant}?` }),
  });
}
