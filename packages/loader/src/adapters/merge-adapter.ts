import { join, resolve } from 'node:path';
import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import { COPIED_FILES } from '../checkpoint/companion-files.js';
import { type Checkpoint, openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { readText } from '../files/read-json.js';
import { MAX_CONFIG_BYTES } from '../limits.js';
import { type FloatDType, fromFloat32 } from '../quantization/float-conversion.js';
import { writeConversion } from '../quantization/write-conversion.js';
import { groupOf, type TensorGroup } from '../safetensors/tensor-group.js';
import type { TensorView } from '../safetensors/tensor-view.js';
import type { WriteProgress } from '../safetensors/write-safetensors.js';
import { checkedModules } from './check-adapter.js';
import { type AdapterModule, openAdapter } from './open-adapter.js';

/** Options of `mergeAdapter`. */
export interface MergeOptions {
  /** Type of the changed matrices; default: as they are stored. F32 keeps the sums as they are computed. */
  readonly dtype?: FloatDType;
  /** Stops the merge; nothing new is left. */
  readonly signal?: AbortSignal;
  /** Called while weights are written. */
  onProgress?(progress: WriteProgress): void;
}

/** What `mergeAdapter` did. */
export interface MergeReport {
  /** Folder of the new checkpoint, absolute. */
  readonly directory: string;
  /** Canonical names of the changed linears. */
  readonly merged: readonly string[];
}

const MAX_SHARD_BYTES = 5 * 1024 ** 3;
const VALUES_AT_ONCE = 2 ** 20;

const OPTIONS: OptionNames<MergeOptions> = { dtype: true, signal: true, onProgress: true };

/**
 * Writes a checkpoint in which W + (α / r) · B · A replaces the weights that an adapter changes; sums are in float32.
 *
 * @param source a checkpoint with plain weights
 * @throws InvalidArgumentError for a quantised checkpoint and for an adapter of another model; the errors of
 *   `openCheckpoint`, `openAdapter` and `writeSafetensors`
 */
export async function mergeAdapter(
  source: string,
  adapterDirectory: string,
  target: string,
  options: MergeOptions = {},
): Promise<MergeReport> {
  checkOptionNames(options, OPTIONS);
  const { signal, dtype, onProgress = () => {} } = options;
  const checkpoint = await openCheckpoint(source, { signal });
  const directory = resolve(target);
  if (checkpoint.quantization !== null || directory === checkpoint.directory) {
    throw new InvalidArgumentError({
      argument: checkpoint.quantization === null ? 'target' : 'source',
      expected: 'a checkpoint with plain weights, and another folder for the result',
      received: checkpoint.quantization === null ? target : `${checkpoint.directory}, which is quantised`,
      hint: 'Merge into the original weights and quantise the result, or apply the adapter without merging',
    });
  }
  const modules = checkedModules(await openAdapter(adapterDirectory), checkpoint);
  const changes = new Map(modules.map((change) => [`${change.module}.weight`, change]));
  await writeConversion(directory, {
    groups: groupsOf(checkpoint, changes, dtype),
    configText: await readText(checkpoint.configPath, MAX_CONFIG_BYTES),
    copiedFiles: COPIED_FILES.map((name) => join(checkpoint.directory, name)),
    fingerprint: '',
    maxShardBytes: MAX_SHARD_BYTES,
    resume: false,
    signal,
    onWritten: onProgress,
  });
  return { directory, merged: modules.map(({ module }) => module) };
}

function groupsOf(
  { weights }: Checkpoint,
  changes: ReadonlyMap<string, AdapterModule>,
  dtype: FloatDType | undefined,
): TensorGroup[] {
  return Array.from(weights.entries(), ([canonical, tensor]) => {
    const { name, shape } = tensor;
    const change = changes.get(canonical);
    if (change === undefined)
      return groupOf({ name, dtype: tensor.dtype, shape, chunks: () => tensor.chunks() });
    const stored = dtype ?? (tensor.dtype as FloatDType);
    return groupOf({ name, dtype: stored, shape, chunks: () => mergedRows(tensor, change, stored) });
  });
}

/** The bytes of W + up · down, some rows at a time. */
async function* mergedRows(
  tensor: TensorView,
  change: AdapterModule,
  dtype: FloatDType,
): AsyncGenerator<Uint8Array> {
  const { rows, columns, rank } = change;
  const { down, up } = await change.read();
  const step = Math.max(1, Math.floor(VALUES_AT_ONCE / columns));
  for (let begin = 0; begin < rows; begin += step) {
    const end = Math.min(begin + step, rows);
    const values = await tensor.slice(begin, end).readFloat32();
    for (let row = begin; row < end; row++) {
      for (let column = 0; column < columns; column++) {
        let sum = 0;
        for (let k = 0; k < rank; k++) sum += up[row * rank + k]! * down[k * columns + column]!;
        values[(row - begin) * columns + column]! += sum;
      }
    }
    yield fromFloat32(values, dtype);
  }
}
