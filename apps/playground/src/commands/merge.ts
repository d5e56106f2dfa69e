import { resolve } from 'node:path';
import { mergeAdapter } from '@markbase/loader';
import { Command, Option } from 'commander';
import { withInterrupt } from '../interrupt.js';
import { printJson, printLines } from '../output.js';

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
    .argument('<target>', 'folder to write')
    .addOption(
      new Option('--dtype <type>', 'type of the changed weights (default: as they are stored)').choices([
        'BF16',
        'F16',
        'F32',
      ]),
    )
    .option('--json', 'print the report as JSON', false)
    .action(async (source: string, adapter: string, target: string, { dtype, json }: MergeFlags) => {
      const report = await withInterrupt((signal) =>
        mergeAdapter(resolve(source), resolve(adapter), resolve(target), { dtype, signal }),
      );
      if (json) printJson(report);
      else printLines([`${report.directory}: ${report.merged.length} matrices changed`]);
    });
}
