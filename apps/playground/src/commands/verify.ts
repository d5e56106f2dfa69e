import type { VerifyReport, VerifySection } from '@markbase/text';
import { Command } from 'commander';
import { withInterrupt } from '../interrupt.js';
import { addDeviceFlags, type DeviceFlags } from '../options.js';
import { printJson, printLines, table } from '../output.js';
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
    .argument('<dir>', 'checkpoint folder')
    .option('--json', 'print the result as JSON', false)
    .action(async (directory: string, flags: VerifyFlags) => {
      const { verifyCheckpoint } = await import('@markbase/text');
      const { mixtureOfExperts: feedForward } = await import('@markbase/moe');
      const { verifyVision: image } = await import('@markbase/vision');
      const { verifyAudio: audio } = await import('@markbase/audio');
      const report = await withInterrupt((signal) =>
        withDevice(flags, (device) =>
          verifyCheckpoint(directory, device, {
            precision: flags.precision,
            feedForward,
            encoders: { image, audio },
            signal,
          }),
        ),
      );
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
