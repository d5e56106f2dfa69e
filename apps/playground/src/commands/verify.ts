import type { VerifyReport, VerifySection } from '@markbase/text';
import { Command } from 'commander';
import { checkpointFolder } from '../checkpoint-folder.js';
import { withInterrupt } from '../interrupt.js';
import { addDeviceFlags, type DeviceFlags } from '../options.js';
import { printJson, printLines, table } from '../output.js';
import { startProgress } from '../progress.js';
import { withDevice } from '../with-device.js';

interface VerifyFlags extends DeviceFlags {
  readonly json: boolean;
}

/** `markbase verify`: compares a checkpoint with the reference outputs next to it. */
export function verifyCommand(): Command {
  const command = new Command('verify')
    .description(
      'Compare a checkpoint with the reference outputs next to it (expected.safetensors): hidden states, logits and ' +
        'greedy tokens. Fails if a part is outside its tolerance.',
    )
    .argument('<dir>', 'checkpoint folder, or a name of "markbase list"')
    .option('--json', 'print the result as JSON', false)
    .action(async (directory: string, flags: VerifyFlags) => {
      const { verifyCheckpoint } = await import('@markbase/text');
      const { mixtureOfExperts: feedForward } = await import('@markbase/moe');
      const { verifyVision: image } = await import('@markbase/vision');
      const { verifyAudio: audio } = await import('@markbase/audio');
      using progress = startProgress('verifying');
      const report = await withInterrupt(async (signal) => {
        const folder = await checkpointFolder(directory, signal);
        return withDevice(flags, (device) =>
          verifyCheckpoint(folder, device, {
            precision: flags.precision,
            feedForward,
            encoders: { image, audio },
            signal,
            onPart: ({ part, index, count }) => progress.say(`verifying ${part} (${index + 1} of ${count})`),
          }),
        );
      });
      progress.finish();
      if (flags.json) printJson(report);
      else printLines(reportLines(report));
      if (!report.pass) process.exitCode = 1;
    });
  return addDeviceFlags(command, 'high');
}

function reportLines(report: VerifyReport): string[] {
  return [
    `${report.directory}, ${report.precision}`,
    '',
    ...table([['', 'part', 'relative rms', 'limit', 'largest'], ...report.sections.map(sectionRow)]),
    '',
    report.pass ? 'passed' : 'FAILED',
  ];
}

function sectionRow(section: VerifySection): string[] {
  if (section.skipped !== undefined) return ['skipped', section.name, '', '', '', section.skipped];
  const figure = (value: number | null | undefined) => (value == null ? '-' : value.toExponential(1));
  const tokens =
    section.tokensEqual === undefined ? '' : section.tokensEqual ? 'tokens equal' : 'tokens differ';
  return [
    section.pass ? 'ok' : 'FAILED',
    section.name,
    figure(section.relRms),
    figure(section.tolerance),
    figure(section.maxAbs),
    tokens,
  ];
}
