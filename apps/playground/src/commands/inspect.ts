import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FileAccessError } from '@markbase/core';
import { openCheckpoint, openSafetensors } from '@markbase/loader';
import { Command } from 'commander';
import { type CheckpointReport, inspectCheckpoint } from '../inspect/inspect-checkpoint.js';
import { bytesBy, type CountedTensor } from '../inspect/tensor-statistics.js';
import { withInterrupt } from '../interrupt.js';
import { formatBytes, printJson, printLines, table } from '../output.js';

interface InspectFlags {
  readonly tensors: boolean;
  readonly json: boolean;
}

/** `markbase inspect`: says what is in a checkpoint folder or a safetensors file; no tensor is read. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description('Show what a checkpoint folder or a single safetensors file holds. No tensor is read.')
    .argument('<path>', 'folder with config.json, Hugging Face cache folder, or a .safetensors file')
    .option('--tensors', 'list every tensor', false)
    .option('--json', 'print the result as JSON', false)
    .action(async (path: string, flags: InspectFlags) => {
      await withInterrupt((signal) =>
        path.endsWith('.safetensors') ? inspectFile(path, flags) : inspectFolder(path, flags, signal),
      );
    });
}

async function inspectFolder(path: string, flags: InspectFlags, signal: AbortSignal): Promise<void> {
  await refuseFile(path);
  const { tensors, ...report } = inspectCheckpoint(await openCheckpoint(path, { signal }));
  const listed = flags.tensors ? tensors : [];
  if (flags.json) {
    printJson(flags.tensors ? { ...report, tensors: listed.map(tensorJson) } : report);
    return;
  }
  printLines([...reportLines(report), ...tensorLines(listed)]);
}

async function inspectFile(path: string, flags: InspectFlags): Promise<void> {
  const file = await openSafetensors(path);
  const tensors = [...file.tensors.values()];
  const summary = {
    path: file.path,
    metadata: Object.fromEntries(file.metadata),
    tensorCount: tensors.length,
    sizeBytes: tensors.reduce((sum, tensor) => sum + tensor.range.sizeBytes, 0),
    bytesByDtype: bytesBy(tensors, (tensor) => tensor.dtype),
  };
  if (flags.json) {
    printJson(flags.tensors ? { ...summary, tensors: tensors.map(tensorJson) } : summary);
    return;
  }
  printLines([
    `${summary.path}: ${summary.tensorCount} tensors, ${formatBytes(summary.sizeBytes)}`,
    ...Object.entries(summary.metadata).map(([key, value]) => `metadata ${key}: ${value}`),
    ...bytesLines('bytes by type', summary.bytesByDtype),
    ...tensorLines(flags.tensors ? tensors : []),
  ]);
}

/** Says what a path to some other file should have been. */
async function refuseFile(path: string): Promise<void> {
  const isFile = await stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
  if (!isFile) return;
  throw new FileAccessError({
    path: resolve(path),
    operation: 'inspect',
    reason: 'it is neither a checkpoint folder nor a .safetensors file',
  });
}

function reportLines(report: Omit<CheckpointReport, 'tensors'>): string[] {
  const { shape, quantization, kv, towers, files } = report;
  const senses = [towers.vision && 'vision', towers.audio && 'audio'].filter(Boolean).join(', ');
  const lines = [
    `${report.directory}: ${report.variant ?? 'drafter'}${report.isReleasedSize ? '' : ' (another size)'}, ` +
      `${report.modelType}, ${formatBytes(report.sizeBytes)}`,
    `width ${shape.hiddenSize}, ${shape.layerCount} layers, ${shape.headCount} heads, vocabulary ${shape.vocabSize}, ` +
      `window ${shape.slidingWindow}, context ${shape.maxPositions}`,
    shape.experts
      ? `experts: ${shape.experts.count} of width ${shape.experts.intermediateSize}, ${shape.experts.topK} a token`
      : 'experts: none',
    `per-layer embedding: ${shape.perLayerInputSize === 0 ? 'none' : `width ${shape.perLayerInputSize}`}`,
    `towers: ${senses || 'none'}`,
    quantization
      ? `quantised: ${quantization.bits} bits, groups of ${quantization.groupSize}, ${quantization.overrideCount} exceptions`
      : 'quantised: no',
  ];
  if (kv) {
    lines.push(
      `keys and values (bfloat16): ${formatBytes(kv.bytesPerToken)} a token, ${formatBytes(kv.bytesPerTokenBeyondWindow)} ` +
        `beyond ${kv.windowTokens} tokens, ${formatBytes(kv.bytesAtMaxPositions)} at ${shape.maxPositions}`,
    );
  }
  return [
    ...lines,
    '',
    ...table([
      ['layer', 'kind', 'head', 'kv heads', 'mlp', 'keys and values'],
      ...report.layers.map((layer) => [
        String(layer.index),
        layer.kind,
        String(layer.headDim),
        String(layer.kvHeadCount),
        String(layer.intermediateSize),
        layer.kvSource === null
          ? layer.keyIsValue
            ? 'own, value = key'
            : 'own'
          : `of layer ${layer.kvSource}`,
      ]),
    ]),
    '',
    ...table([
      ['modules', 'count', 'stored as', 'bytes'],
      ...report.modules.map((module) => [
        module.kind,
        String(module.moduleCount),
        module.bits === null
          ? module.dtype
          : `${module.bits} bits, group ${module.groupSize}, ${module.dtype}`,
        formatBytes(module.sizeBytes),
      ]),
    ]),
    ...bytesLines('bytes by type', report.bytesByDtype),
    ...bytesLines('bytes by part', report.bytesByModule),
    '',
    ...files.weights.map((file) => `weights: ${file}`),
    ...Object.entries(files)
      .filter(([key]) => key !== 'weights')
      .map(([key, file]) => `${key}: ${file ?? 'missing'}`),
  ];
}

function bytesLines(title: string, bytes: Readonly<Record<string, number>>): string[] {
  return ['', ...table([[title], ...Object.entries(bytes).map(([key, size]) => [key, formatBytes(size)])])];
}

function tensorLines(tensors: readonly CountedTensor[]): string[] {
  if (tensors.length === 0) return [];
  return [
    '',
    ...table(
      tensors.map((tensor) => [
        tensor.name,
        tensor.dtype,
        `[${tensor.shape.join(', ')}]`,
        formatBytes(tensor.range.sizeBytes),
      ]),
    ),
  ];
}

function tensorJson(tensor: CountedTensor) {
  return {
    name: tensor.name,
    dtype: tensor.dtype,
    shape: tensor.shape,
    file: tensor.range.path,
    offsetBytes: tensor.range.offsetBytes,
    sizeBytes: tensor.range.sizeBytes,
  };
}
