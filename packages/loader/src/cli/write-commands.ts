import { InvalidArgumentError } from '@markbase/core';
import { shardCheckpoint } from '../checkpoint/shard-checkpoint.js';
import { type DownloadOptions, downloadCheckpoint } from '../hub/download-checkpoint.js';
import type { QuantizationMode } from '../quantization/quantization-mode.js';
import { type QuantizeOptions, quantizeCheckpoint } from '../quantization/quantize-checkpoint.js';
import type { QuantizeRule } from '../quantization/quantize-rules.js';
import { type CliOutput, formatBytes, printable, progressLine } from './output.js';

/** Converts a checkpoint into the MLX layout. */
export async function convert(
  request: { readonly source: string; readonly target: string; readonly json?: boolean } & QuantizeOptions,
  output: CliOutput,
): Promise<void> {
  const { source, target, json, ...options } = request;
  const progress = progressLine(output);
  const report = await quantizeCheckpoint(source, target, {
    ...options,
    onProgress: ({ doneBytes, totalBytes, tensor }) =>
      progress.show(`${percent(doneBytes, totalBytes)} ${printable(tensor)}`),
  });
  progress.done();
  if (json) {
    output.out(`${JSON.stringify(report, null, 2)}\n`);
    return;
  }
  output.out(
    `${report.directory}: ${formatBytes(report.sourceBytes)} became ${formatBytes(report.targetBytes)}; ` +
      `${report.quantized.length} matrices quantised, ${report.plain.length} copied, ` +
      `${report.dropped.length} tensors dropped\n${requantizedText(report.requantized.length)}`,
  );
}

/** What it costs to quantise matrices that were quantised; empty if there are none. */
function requantizedText(count: number): string {
  if (count === 0) return '';
  return `${count} of the matrices were quantised in the source: errors of both add up; the original checkpoint gives better ones\n`;
}

/** Writes the weights of a checkpoint into files of another size. */
export async function shard(
  request: {
    readonly source: string;
    readonly target: string;
    readonly maxShardBytes: number;
    readonly json?: boolean;
    readonly signal?: AbortSignal;
  },
  output: CliOutput,
): Promise<void> {
  const { source, target, maxShardBytes, signal } = request;
  const progress = progressLine(output);
  const report = await shardCheckpoint(source, target, {
    maxShardBytes,
    signal,
    onProgress: ({ writtenBytes, totalBytes }) => progress.show(percent(writtenBytes, totalBytes)),
  });
  progress.done();
  output.out(
    request.json
      ? `${JSON.stringify(report, null, 2)}\n`
      : `${report.directory}: ${report.tensorCount} tensors, ${formatBytes(report.sizeBytes)}\n`,
  );
}

/** Downloads a checkpoint into the shared cache. */
export async function download(
  request: { readonly repository: string; readonly json?: boolean } & DownloadOptions,
  output: CliOutput,
): Promise<void> {
  const { repository, json, ...options } = request;
  const progress = progressLine(output);
  const made = await downloadCheckpoint(repository, {
    ...options,
    onProgress: ({ phase, file, doneBytes, totalBytes }) =>
      progress.show(
        phase === 'waiting'
          ? 'waiting for another process that downloads the same repository'
          : `${percent(doneBytes, totalBytes)} of ${formatBytes(totalBytes)} ${file}`,
      ),
  });
  progress.done();
  output.out(json ? `${JSON.stringify(made, null, 2)}\n` : `${made.directory}\n`);
}

/**
 * A rule from a text: `PATTERN=skip`, `PATTERN=mxfp8`, `PATTERN=8`, or `PATTERN=6/32` for 6 bits and groups of 32.
 *
 * @throws InvalidArgumentError
 */
export function parseRule(text: string): QuantizeRule {
  const match = /^([^=]+)=(?:(skip)|(mxfp4|mxfp8|nvfp4)|(\d+)(?:\/(\d+))?)$/.exec(text);
  if (match === null) {
    throw new InvalidArgumentError({
      argument: '--rule',
      expected: 'PATTERN=skip, PATTERN=MODE (mxfp4, mxfp8, nvfp4), PATTERN=BITS or PATTERN=BITS/GROUP',
      received: text,
    });
  }
  const [, pattern = '', skip, mode, bits, groupSize] = match;
  if (skip !== undefined) return { match: pattern, skip: true };
  if (mode !== undefined) return { match: pattern, mode: mode as QuantizationMode };
  return {
    match: pattern,
    bits: Number(bits),
    ...(groupSize !== undefined && { groupSize: Number(groupSize) }),
  };
}

function percent(done: number, total: number): string {
  return `${total === 0 ? 100 : Math.floor((100 * done) / total)} %`;
}
