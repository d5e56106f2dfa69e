import { resolve } from 'node:path';
import { InvalidArgumentError } from '@markbase/core';
import { type QuantizeReport, type QuantizeRule, quantizeCheckpoint } from '@markbase/loader';
import { Command, Option } from 'commander';
import { withInterrupt } from '../interrupt.js';
import { repeated } from '../options.js';
import { formatBytes, printJson, printLines } from '../output.js';
import { startProgress } from '../progress.js';

interface QuantizeFlags {
  readonly bits: string;
  readonly groupSize: string;
  readonly rule: readonly string[];
  readonly towers: 'keep' | 'quantize';
  readonly json: boolean;
}

/** `markbase quantize`: converts a Hugging Face checkpoint to a quantised MLX checkpoint. */
export function quantizeCommand(): Command {
  return new Command('quantize')
    .description(
      'Convert a bfloat16 checkpoint (Hugging Face or MLX layout) to a quantised one in MLX layout.',
    )
    .argument('<source>', 'checkpoint folder to read')
    .argument('<target>', 'folder to write')
    .addOption(
      new Option('--bits <n>', 'bits per weight').choices(['2', '3', '4', '5', '6', '8']).default('4'),
    )
    .addOption(
      new Option('--group-size <n>', 'number of weights that share a scale and a bias')
        .choices(['32', '64', '128'])
        .default('64'),
    )
    .option(
      '--rule <glob=bits[:group]|skip>',
      'different bits for matching modules, such as "**.mlp.*=8"; repeatable, the first match applies',
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
      const progress = startProgress('quantising');
      try {
        const report = await withInterrupt((signal) =>
          quantizeCheckpoint(resolve(source), resolve(target), {
            bits: Number(flags.bits),
            groupSize: Number(flags.groupSize),
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
  return [
    `${report.directory}: reduced ${before} to ${after}; ${report.quantized.length} modules quantised, ` +
      `${report.plain.length} matrices copied unchanged, ${report.dropped.length} tensors dropped`,
  ];
}

/** Reads `glob=bits`, `glob=bits:group` or `glob=skip`. */
function parseRule(text: string): QuantizeRule {
  const parts = /^(?<match>[^=]+)=(?:(?<skip>skip)|(?<bits>[234568])(?::(?<group>32|64|128))?)$/.exec(
    text,
  )?.groups;
  if (!parts?.match) {
    throw new InvalidArgumentError({
      argument: '--rule',
      expected:
        'glob=bits, glob=bits:group or glob=skip, with bits 2, 3, 4, 5, 6 or 8 and groups of 32, 64 or 128',
      received: text,
    });
  }
  if (parts.skip) return { match: parts.match, skip: true };
  return {
    match: parts.match,
    bits: Number(parts.bits),
    groupSize: parts.group ? Number(parts.group) : undefined,
  };
}
