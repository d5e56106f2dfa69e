import { resolve } from 'node:path';
import { mergeAdapter } from '@markbase/loader';
import { Command, Option } from 'commander';
import { localFolder } from '../checkpoint-folder.js';
import { checkTarget } from '../empty-folder.js';
import { withInterrupt } from '../interrupt.js';
import { printJson, printLines } from '../output.js';
import { startProgress } from '../progress.js';

interface MergeFlags {
  readonly dtype?: 'BF16' | 'F16' | 'F32';
  readonly json: boolean;
}

/** `markbase merge`: writes a checkpoint with the weights that a LoRA adapter changes. */
export function mergeCommand(): Command {
  return new Command('merge')
    .description(
      'Write a checkpoint in which W + (alpha / r) * B * A replaces the weights that a LoRA adapter of PEFT or MLX changes. ' +
        'The checkpoint must not be quantised.',
    )
    .argument('<source>', 'checkpoint folder to read')
    .argument('<adapter>', 'folder of the adapter')
    .argument('<target>', 'new or empty folder to write')
    .addOption(
      new Option('--dtype <type>', 'type of the changed weights (default: as they are stored)').choices([
        'BF16',
        'F16',
        'F32',
      ]),
    )
    .option('--json', 'print the report as JSON', false)
    .action(async (source: string, adapter: string, target: string, { dtype, json }: MergeFlags) => {
      const from = resolve(await localFolder(source));
      await checkTarget(from, target);
      using progress = startProgress('merging');
      const report = await withInterrupt((signal) =>
        mergeAdapter(from, resolve(adapter), resolve(target), {
          dtype,
          signal,
          onProgress: ({ writtenBytes, totalBytes }) => progress.update(writtenBytes, totalBytes),
        }),
      );
      progress.finish();
      if (json) printJson(report);
      else printLines([`${report.directory}: ${report.merged.length} matrices changed`]);
    });
}
