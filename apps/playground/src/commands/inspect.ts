import { inspect } from '@markbase/loader/cli';
import { Command } from 'commander';
import { withInterrupt } from '../interrupt.js';

interface InspectFlags {
  readonly tensors: boolean;
  readonly json: boolean;
}

/** `markbase inspect`: says what is in a checkpoint or a safetensors file; no tensor is read. The loader's own report. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description(
      'Show what a checkpoint or a single safetensors file holds and what it needs. No tensor is read.',
    )
    .argument(
      '<path>',
      'folder with config.json, Hugging Face cache folder, .safetensors file, or org/name on the hub (headers only)',
    )
    .option('--tensors', 'list every tensor', false)
    .option('--json', 'print the result as JSON', false)
    .action(async (path: string, flags: InspectFlags) => {
      await withInterrupt((signal) => inspect({ path, ...flags, signal }, standardOutput));
    });
}

const standardOutput = {
  out: (text: string) => void process.stdout.write(text),
  err: (text: string) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
};
