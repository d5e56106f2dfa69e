import { resolve } from 'node:path';
import { InvalidArgumentError } from '@markbase/core';
import {
  type QuantizationMode,
  type QuantizeReport,
  type QuantizeRule,
  quantizeCheckpoint,
} from '@markbase/loader';
import { Command, Option } from 'commander';
import { localFolder } from '../checkpoint-folder.js';
import { checkTarget } from '../empty-folder.js';
import { withInterrupt } from '../interrupt.js';
import { QUANTIZATION_MODES, repeated } from '../options.js';
import { formatBytes, printJson, printLines } from '../output.js';
import { startProgress } from '../progress.js';

interface QuantizeFlags {
  readonly mode: QuantizationMode;
  readonly bits?: string;
  readonly groupSize?: string;
  readonly rule: readonly string[];
  readonly towers: 'keep' | 'quantize';
  readonly json: boolean;
}

/** `markbase quantize`: converts a checkpoint to a quantised MLX checkpoint. */
export function quantizeCommand(): Command {
  return new Command('quantize')
    .description(
      'Convert a checkpoint (Hugging Face or MLX layout) to a quantised one in MLX layout. It is best made from bfloat16: ' +
        'matrices that are quantised already are quantised again, and the errors of both add up.',
    )
    .argument('<source>', 'checkpoint folder to read')
    .argument('<target>', 'new or empty folder to write; what an interrupted run left is continued')
    .addOption(
      new Option('--mode <name>', 'format of the weights').choices(QUANTIZATION_MODES).default('affine'),
    )
    .addOption(
      new Option('--bits <n>', 'bits per affine weight (default: 4)').choices(['2', '3', '4', '5', '6', '8']),
    )
    .addOption(
      new Option(
        '--group-size <n>',
        'number of affine weights that share a scale and a bias (default: 64)',
      ).choices(['32', '64', '128']),
    )
    .option(
      '--rule <glob=bits[:group]|mode|skip>',
      'another format for matching modules, such as "**.mlp.*=8"; repeatable, the first match applies',
      repeated,
      [],
    )
    .addOption(
      new Option('--towers <mode>', 'keep or quantise the vision and audio towers')
        .choices(['keep', 'quantize'])
        .default('keep'),
    )
    .option('--json', 'print the report as JSON', false)
    .action(async (source: string, target: string, flags: QuantizeFlags) => {
      const rules = flags.rule.map(parseRule);
      const from = resolve(await localFolder(source));
      await checkTarget(from, target);
      const progress = startProgress('quantising');
      try {
        const report = await withInterrupt((signal) =>
          quantizeCheckpoint(from, resolve(target), {
            mode: flags.mode,
            bits: flags.bits === undefined ? undefined : Number(flags.bits),
            groupSize: flags.groupSize === undefined ? undefined : Number(flags.groupSize),
            rules,
            towers: flags.towers,
            signal,
            onProgress: ({ doneBytes, totalBytes, tensor }) => progress.update(doneBytes, totalBytes, tensor),
          }),
        );
        progress.finish();
        if (flags.json) printJson(report);
        else printLines(reportLines(report));
      } finally {
        progress.finish();
      }
    });
}

function reportLines(report: QuantizeReport): string[] {
  const before = formatBytes(report.sourceBytes);
  const after = formatBytes(report.targetBytes);
  const again = report.requantized.length;
  return [
    `${report.directory}: reduced ${before} to ${after}; ${report.quantized.length} modules quantised, ` +
      `${report.plain.length} matrices copied unchanged, ${report.dropped.length} tensors dropped`,
    ...(again > 0
      ? [
          `${again} modules were quantised in the source: errors of both add up; the original checkpoint gives better ones`,
        ]
      : []),
  ];
}

/** Reads `glob=bits`, `glob=bits:group`, `glob=mode` or `glob=skip`. */
function parseRule(text: string): QuantizeRule {
  const parts =
    /^(?<match>[^=]+)=(?:(?<skip>skip)|(?<mode>mxfp4|mxfp8|nvfp4)|(?<bits>[234568])(?::(?<group>32|64|128))?)$/.exec(
      text,
    )?.groups;
  if (!parts?.match) {
    throw new InvalidArgumentError({
      argument: '--rule',
      expected:
        'glob=bits, glob=bits:group, glob=mode or glob=skip, with bits 2, 3, 4, 5, 6 or 8, groups of 32, 64 or 128, ' +
        'and mode mxfp4, mxfp8 or nvfp4',
      received: text,
    });
  }
  if (parts.skip) return { match: parts.match, skip: true };
  if (parts.mode) return { match: parts.match, mode: parts.mode as QuantizationMode };
  return {
    match: parts.match,
    bits: Number(parts.bits),
    groupSize: parts.group ? Number(parts.group) : undefined,
  };
}
