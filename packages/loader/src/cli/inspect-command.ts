import { openCheckpoint } from '../checkpoint/open-checkpoint.js';
import type { EstimateOptions, MemoryEstimate } from '../estimate/estimate.js';
import { bytesBy } from '../estimate/tensor-bytes.js';
import { isFolder } from '../files/file-access.js';
import { isRepositoryName } from '../hub/hub-options.js';
import { openRemoteCheckpoint } from '../hub/remote-checkpoint.js';
import {
  type CheckpointReport,
  describeFolder,
  inspectCheckpoint,
  type ReportedTensor,
} from '../report/inspect-checkpoint.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';
import { type CliOutput, formatBytes, printable, table } from './output.js';

/** What `inspect` is asked to do. */
export interface InspectRequest {
  /** Folder with config.json, folder of a Hugging Face cache, `.safetensors` file, or `org/name` on a hub. */
  readonly path: string;
  /** Lists every tensor. */
  readonly tensors?: boolean;
  /** Prints JSON instead of tables. */
  readonly json?: boolean;
  /** Branch, tag or commit on the hub; default `main`. */
  readonly revision?: string;
  /** What the memory estimate assumes. */
  readonly estimate?: EstimateOptions;
  /** Aborts the work, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Says what is in a checkpoint or a file, and what memory it takes. No tensor is read. */
export async function inspect(request: InspectRequest, output: CliOutput): Promise<void> {
  const { path, signal, revision } = request;
  if (path.endsWith('.safetensors')) return inspectFile(request, output);
  if (isRepositoryName(path) && !(await isFolder(path))) {
    const remote = await openRemoteCheckpoint(path, { revision, signal });
    const { repository, commit } = remote;
    return print(
      request,
      { repository, commit },
      `${repository} at ${commit}`,
      inspectCheckpoint(remote, request.estimate),
      output,
    );
  }
  const checkpoint = await openCheckpoint(path, { signal });
  const folder = describeFolder(checkpoint);
  print(request, folder, folder.directory, inspectCheckpoint(checkpoint, request.estimate), output);
}

function print(
  request: InspectRequest,
  place: object,
  title: string,
  { tensors, ...report }: CheckpointReport,
  output: CliOutput,
): void {
  if (request.json) {
    const listed = request.tensors ? { tensors } : {};
    output.out(`${JSON.stringify({ ...place, ...report, ...listed }, null, 2)}\n`);
    return;
  }
  const lines = [...reportLines(title, report), ...(request.tensors ? tensorLines(tensors) : [])];
  output.out(`${lines.join('\n')}\n`);
}

async function inspectFile(
  { path, tensors: isListed, json }: InspectRequest,
  output: CliOutput,
): Promise<void> {
  const file = await openSafetensors(path);
  const tensors = Array.from(file.tensors.values(), ({ name, dtype, shape, range }): ReportedTensor => {
    return {
      name,
      dtype,
      shape,
      file: range.path,
      offsetBytes: range.offsetBytes,
      sizeBytes: range.sizeBytes,
    };
  });
  const summary = {
    path: file.path,
    metadata: Object.fromEntries(file.metadata),
    tensorCount: tensors.length,
    sizeBytes: tensors.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    bytesByDtype: bytesBy(tensors, ({ dtype }) => dtype),
  };
  if (json) {
    output.out(`${JSON.stringify(isListed ? { ...summary, tensors } : summary, null, 2)}\n`);
    return;
  }
  const lines = [
    `${summary.path}: ${summary.tensorCount} tensors, ${formatBytes(summary.sizeBytes)}`,
    ...Object.entries(summary.metadata).map(
      ([key, value]) => `metadata ${printable(key)}: ${printable(value)}`,
    ),
    ...byteLines('bytes by type', summary.bytesByDtype),
    ...(isListed ? tensorLines(tensors) : []),
  ];
  output.out(`${lines.join('\n')}\n`);
}

/** A report for a person, without the list of tensors. */
export function reportLines(title: string, report: Omit<CheckpointReport, 'tensors'>): string[] {
  const { shape, quantization, towers, memory } = report;
  const senses = [towers.vision && 'vision', towers.audio && 'audio'].filter(Boolean).join(', ');
  return [
    `${printable(title)}: ${report.variant ?? 'drafter'}${report.isReleasedSize ? '' : ' (another size)'}, ` +
      `${report.modelType}, ${formatBytes(report.sizeBytes)}`,
    `width ${shape.hiddenSize}, ${shape.layerCount} layers, ${shape.headCount} heads, vocabulary ${shape.vocabSize}, ` +
      `window ${shape.slidingWindow}, context ${shape.maxPositions}`,
    shape.experts
      ? `experts: ${shape.experts.count} of width ${shape.experts.intermediateSize}, ${shape.experts.topK} per token`
      : 'experts: none',
    `per-layer embedding: ${shape.perLayerInputSize === 0 ? 'none' : `width ${shape.perLayerInputSize}`}`,
    `towers: ${senses || 'none'}`,
    ...Object.entries(report.absent).flatMap(([tower, reason]) =>
      reason === null || reason === `config.json has no ${tower}_config`
        ? []
        : [`no ${tower}: ${printable(reason)}`],
    ),
    quantization
      ? `quantised: ${quantization.mode}, ${quantization.bits} bits, groups of ${quantization.groupSize}, ${quantization.overrideCount} exceptions`
      : 'quantised: no',
    ...memoryLines(memory),
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
        printable(module.kind),
        String(module.moduleCount),
        module.bits === null
          ? module.dtype
          : `${module.mode === 'affine' ? '' : `${module.mode}, `}${module.bits} bits, group ${module.groupSize}, ${module.dtype}`,
        formatBytes(module.sizeBytes),
      ]),
    ]),
    ...byteLines('bytes by type', memory.bytesByDtype),
    ...byteLines('bytes by part', memory.bytesByModule),
    '',
    ...report.weightFiles.map((file) => `weights: ${printable(file)}`),
  ];
}

function memoryLines({ kv, fit, activePerToken, ...memory }: MemoryEstimate): string[] {
  const lines = [
    `memory: ${formatBytes(memory.totalBytes)} = weights ${formatBytes(memory.weightBytes)}, keys and values ` +
      `${formatBytes(memory.cacheBytes)}, buffers ${formatBytes(memory.activationBytes)}`,
    `keys and values: ${formatBytes(kv.perToken)} per token, ${formatBytes(kv.perTokenBeyondWindow)} beyond ${kv.windowTokens} tokens`,
    `read per token: ${formatBytes(activePerToken.total)} = weights ${formatBytes(activePerToken.dense)}, experts ` +
      `${formatBytes(activePerToken.experts)}, looked up ${formatBytes(activePerToken.lookups)}, keys and values ` +
      `${formatBytes(activePerToken.keysAndValues)}`,
  ];
  if (memory.deadBytes > 0) lines.push(`tensors that nothing needs: ${formatBytes(memory.deadBytes)}`);
  if (fit !== null) {
    const verdict = fit.fits
      ? `fits, with ${formatBytes(fit.freeBytes)} to spare`
      : `does not fit, ${formatBytes(-fit.freeBytes)} short`;
    lines.push(
      `in ${formatBytes(fit.memoryBytes)}: ${verdict}; the longest context that fits has ${fit.maxContextTokens} tokens`,
    );
  }
  return lines;
}

function byteLines(title: string, bytes: Readonly<Record<string, number>>): string[] {
  const rows = Object.entries(bytes).map(([key, size]) => [printable(key), formatBytes(size)]);
  return ['', ...table([[title], ...rows])];
}

function tensorLines(tensors: readonly ReportedTensor[]): string[] {
  const rows = tensors.map(({ name, dtype, shape, sizeBytes }) => [
    printable(name),
    dtype,
    `[${shape.join(', ')}]`,
    formatBytes(sizeBytes),
  ]);
  return rows.length === 0 ? [] : ['', ...table(rows)];
}
