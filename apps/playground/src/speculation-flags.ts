import type { Checkpoint } from '@markbase/loader';
import type { TextModelOptions } from '@markbase/text';
import { type Command, Option } from 'commander';
import { checkpointFolder } from './checkpoint-folder.js';
import type { DeviceFlags } from './options.js';
import { note } from './progress.js';

/** The options about guessed tokens. */
export interface SpeculationFlags {
  readonly assistant?: string;
  readonly speculation: 'auto' | 'on' | 'off';
}

/** Adds `--assistant` and `--speculation`. */
export function addSpeculationFlags(command: Command): Command {
  return command
    .option(
      '--assistant <dir>',
      'folder of the drafter that guesses tokens, or org/name on the hub (default: the one beside the model)',
    )
    .addOption(
      new Option(
        '--speculation <when>',
        'guess tokens and verify several at once; auto: with an assistant, where answers stay the same bits',
      )
        .choices(['auto', 'on', 'off'])
        .default('auto'),
    );
}

/** The options of a model that the flags stand for; looks for an assistant beside it. */
export async function speculationOptions(
  { assistant: given, speculation, precision }: SpeculationFlags & Pick<DeviceFlags, 'precision'>,
  checkpoint: Checkpoint,
  deviceKind: string,
  signal?: AbortSignal,
): Promise<Pick<TextModelOptions, 'assistant' | 'speculation'>> {
  if (speculation === 'off') return { speculation: false };
  const asked = speculation === 'on' ? { speculation: true } : {};
  if (given !== undefined) return { assistant: await checkpointFolder(given, signal), ...asked };
  const keepsBits = precision === 'high' || deviceKind !== 'cuda';
  if (speculation === 'auto' && !keepsBits) return asked;
  const { findAssistant } = await import('@markbase/text');
  const assistant = await findAssistant(checkpoint);
  if (assistant === null) return asked;
  note(`guessing tokens with ${assistant.directory}`);
  return { assistant, ...asked };
}
