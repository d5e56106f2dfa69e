import { Command } from 'commander';
import { configPaths, readConfigFile } from '../config/config-file.js';
import { printJson, printLines } from '../output.js';

/** `markbase config`: which config file counts, and what it says. */
export function configCommand(): Command {
  return new Command('config')
    .description('Show which config file counts, and what it says.')
    .option('--json', 'print the result as JSON', false)
    .action(async ({ json }: { json: boolean }) => {
      const file = await readConfigFile();
      const paths = configPaths();
      if (json) printJson({ path: file?.path ?? null, searched: paths, sections: file?.sections ?? {} });
      else if (file) printLines([file.path, JSON.stringify(file.sections, null, 2)]);
      else printLines(['no config file; these are looked for:', ...paths.map((path) => `  ${path}`)]);
    });
}
