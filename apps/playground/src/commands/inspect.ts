import { inspect } from '@markbase/loader/cli';
import { Command } from 'commander';
import { localFolder } from '../checkpoint-folder.js';
import { withInterrupt } from '../interrupt.js';

interface InspectFlags {
  readonly tensors: boolean;
  readonly json: boolean;
}

/**
 * `markbase inspect`: describes a checkpoint or a safetensors file without reading a tensor, with the loader's report.
 */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description(
      'Show the contents and memory needs of a checkpoint or a safetensors file, without reading any tensor.',
    )
    .argument(
      '<path>',
      'checkpoint folder, Hugging Face cache folder, .safetensors file, or org/name on the hub (reads only headers)',
    )
    .option('--tensors', 'list every tensor', false)
    .option('--json', 'print the result as JSON', false)
    .action(async (given: string, flags: InspectFlags) => {
      const path = await localFolder(given);
      await withInterrupt((signal) => inspect({ path, ...flags, signal }, standardOutput));
    });
}

const standardOutput = {
  out: (text: string) => void process.stdout.write(text),
  err: (text: string) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
};
