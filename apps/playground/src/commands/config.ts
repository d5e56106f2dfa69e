import { Command } from 'commander';
import { type ConfigFile, configPaths, readConfigFile } from '../config/config-file.js';
import { printJson, printLines } from '../output.js';

/** `markbase config`: shows the config file in use and its contents. */
export function configCommand(): Command {
  return new Command('config')
    .description('Show the config file in use and its contents.')
    .option('--json', 'print the result as JSON', false)
    .action(async ({ json }: { json: boolean }) => {
      const file = await readConfigFile();
      const paths = configPaths();
      if (json)
        printJson({
          path: file?.path ?? null,
          searched: paths,
          sections: file?.sections ?? {},
          models: file?.models ?? [],
        });
      else if (file) printLines([file.path, JSON.stringify(contentsOf(file), null, 2)]);
      else printLines(['no config file; searched:', ...paths.map((path) => `  ${path}`)]);
    });
}

function contentsOf({ sections, models }: ConfigFile): object {
  return models.length > 0 ? { models, ...sections } : sections;
}
