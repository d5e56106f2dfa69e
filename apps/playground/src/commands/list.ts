import { Command } from 'commander';
import { type LocalModel, localModels } from '../models/local-models.js';
import { formatBytes, printJson, printLines, table } from '../output.js';

/** `markbase list`: lists the models on this machine. */
export function listCommand(): Command {
  return new Command('list')
    .alias('ls')
    .description(
      'List the models on this machine: the demo model, those in the Hugging Face cache, and those in the folders that ' +
        'the config file names under "models".',
    )
    .option('--json', 'print the result as JSON', false)
    .action(async ({ json }: { json: boolean }) => {
      const models = await localModels();
      if (json) printJson({ models });
      else
        printLines(models.length > 0 ? linesOf(models) : ['no models; get one with: markbase pull ORG/NAME']);
    });
}

function linesOf(models: readonly LocalModel[]): string[] {
  return table([
    ['name', 'format', 'size', 'changed', ''],
    ...models.map((model) => [
      model.name,
      model.format,
      formatBytes(model.sizeBytes),
      new Date(model.changedAtMs).toISOString().slice(0, 10),
      placeOf(model),
    ]),
  ]);
}

function placeOf({ kind, isComplete, directory, name }: LocalModel): string {
  if (kind === 'folder') return directory;
  if (isComplete) return kind === 'demo' ? 'comes with markbase' : '';
  return `incomplete: markbase pull ${name} continues`;
}
