import { createHash } from 'node:crypto';
import { InvalidArgumentError } from '@markbase/core';
import { type Checkpoint, checkedModules, openAdapter } from '@markbase/loader';
import type {
  AdapterMatrices,
  Axis,
  DeviceBuffer,
  Matrix,
  Ops,
  RowAxis,
  Value,
} from '@markbase/metal-runtime';

/** Name of the step input [T, 1] with the adapter of each row: 0 = none, 1 = the first. */
export const ADAPTER_INPUT = 'adapter';

/** The factors of all adapters of one linear; those that do not change it are zeros. */
interface Factors {
  /** A, [r, In] each */
  readonly down: AdapterMatrices<'X', Axis>;
  /** (α / r) · B, [Out, r] each */
  readonly up: AdapterMatrices<Axis, 'X'>;
}

/** The LoRA adapters of a decoder, on its device. */
export interface DecoderAdapters {
  /** Names in the order of their numbers, which begin with 1. */
  readonly names: readonly string[];
  /** Hashes of their factors, in the same order. */
  readonly hashes: readonly string[];
  readonly factors: ReadonlyMap<Matrix<Axis, Axis>, Factors>;
}

/**
 * Reads adapters and uploads their factors in float32.
 *
 * @param folders of the adapters, by name
 * @param matrices of the decoder, by module
 * @throws the errors of `openAdapter`; InvalidArgumentError for an adapter of another model
 */
export async function loadAdapters(
  folders: Readonly<Record<string, string>>,
  checkpoint: Checkpoint,
  matrices: ReadonlyMap<string, Matrix<Axis, Axis>>,
  upload: (values: Float32Array, label: string) => DeviceBuffer,
): Promise<DecoderAdapters | null> {
  const names = Object.keys(folders);
  if (names.length === 0) return null;
  const adapters = [];
  for (const [name, folder] of Object.entries(folders)) {
    if (!/^[\w.-]+$/.test(name)) {
      throw new InvalidArgumentError({
        argument: 'adapters',
        expected: 'names of letters, digits, ".", "-" and "_"',
        received: name,
      });
    }
    const modules = checkedModules(await openAdapter(folder), checkpoint);
    adapters.push(new Map(modules.map((module) => [module.module, module])));
  }
  const hashes = names.map(() => createHash('sha256'));
  const factors = new Map<Matrix<Axis, Axis>, Factors>();
  for (const name of new Set(adapters.flatMap((modules) => [...modules.keys()]))) {
    const changes = adapters.map((modules) => modules.get(name) ?? null);
    const { rows, columns } = changes.find((change) => change !== null)!;
    const rank = Math.max(...changes.map((change) => change?.rank ?? 0));
    const count = changes.length;
    const down = new Float32Array(count * rank * columns);
    const up = new Float32Array(count * rows * rank);
    for (const [index, change] of changes.entries()) {
      if (change === null) continue;
      const read = await change.read();
      hashes[index]!.update(JSON.stringify([name, change.rank]))
        .update(read.down)
        .update(read.up);
      down.set(read.down, index * rank * columns);
      for (let row = 0; row < rows; row++) {
        const values = read.up.subarray(row * change.rank, (row + 1) * change.rank);
        up.set(values, (index * rows + row) * rank);
      }
    }
    factors.set(matrices.get(name)!, {
      down: { count, rows: rank, columns, data: upload(down, `${name}.lora_A`) },
      up: { count, rows, columns: rank, data: upload(up, `${name}.lora_B`) },
    });
  }
  return { names, hashes: hashes.map((hash) => hash.digest('hex').slice(0, 32)), factors };
}

/** The same operations, except that a linear with adapters adds up · (down · x) of each row's adapter. */
export function withAdapters(ops: Ops, { factors }: DecoderAdapters): Ops {
  const all = ops.input(ADAPTER_INPUT, 'T', { axis: 'X', size: 1 });
  let outputs: Value<'N', 'X'> | null = null;
  const selectedFor = (rows: RowAxis): Value<RowAxis, 'X'> => {
    if (rows === 'T') return all;
    outputs ??= ops.gatherRows(all);
    return outputs;
  };
  return {
    ...ops,
    linear(x, weight, options) {
      const base = ops.linear(x, weight, options);
      const own = factors.get(weight as Matrix<Axis, Axis>);
      if (own === undefined) return base;
      return adapted(ops, own, { x, base, selected: selectedFor(x.rows) as Value<typeof x.rows, 'X'> });
    },
  };
}

/** base + up · (down · x) */
function adapted<R extends RowAxis, Out extends Axis, In extends Axis>(
  ops: Ops,
  { down, up }: Factors,
  { x, base, selected }: { x: Value<R, In>; base: Value<R, Out>; selected: Value<R, 'X'> },
): Value<R, Out> {
  const lowRank = ops.adapterLinear(x, down as AdapterMatrices<'X', In>, { selected });
  return ops.adapterLinear(lowRank, up as AdapterMatrices<Out, 'X'>, { selected, base });
}
