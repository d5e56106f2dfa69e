import { join, resolve } from 'node:path';
import { FileAccessError, InvalidConfigError } from '@markbase/core';
import { canonicalName } from '../checkpoint/weight-names.js';
import { ConfigReader } from '../config/config-reader.js';
import { isFile } from '../files/file-access.js';
import { readJson } from '../files/read-json.js';
import { MAX_CONFIG_BYTES } from '../limits.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';
import type { TensorView } from '../safetensors/tensor-view.js';
import { type AdapterScale, mlxScale, peftScale } from './adapter-scale.js';

/** A low-rank adapter of a linear: W becomes W + up · down. */
export interface AdapterModule {
  /** Canonical name of the linear. */
  readonly module: string;
  /** r */
  readonly rank: number;
  /** Out, rows of W. */
  readonly rows: number;
  /** In, columns of W. */
  readonly columns: number;
  /** Reads the factors as float32: down [r, In], and up [Out, r], which includes the scale. */
  read(): Promise<{ readonly down: Float32Array; readonly up: Float32Array }>;
}

/** An opened LoRA adapter; no tensor has been read. */
export interface Adapter {
  /** Absolute path of its folder. */
  readonly directory: string;
  /** 'peft': adapter_model.safetensors. 'mlx': adapters.safetensors. */
  readonly layout: 'peft' | 'mlx';
  /** The linears that it changes. */
  readonly modules: readonly AdapterModule[];
}

/** How a layout names and stores the factors of a linear. */
interface Layout {
  readonly file: string;
  readonly names: RegExp;
  /** Factors are stored transposed: down [In, r] and up [r, Out]. */
  readonly isTransposed: boolean;
  readonly scale: (config: ConfigReader) => AdapterScale;
}

const LAYOUTS: Readonly<Record<Adapter['layout'], Layout>> = {
  peft: {
    file: 'adapter_model.safetensors',
    names: /^(.+)\.lora_(A|B)(?:\.default)?\.weight$/,
    isTransposed: false,
    scale: peftScale,
  },
  mlx: { file: 'adapters.safetensors', names: /^(.+)\.lora_(a|b)$/, isTransposed: true, scale: mlxScale },
};

/**
 * Opens a LoRA adapter of PEFT or of MLX.
 *
 * @param directory folder with adapter_config.json and adapter_model.safetensors or adapters.safetensors
 * @throws FileAccessError, CorruptFileError; InvalidConfigError for other kinds of adapters and for tensors that are not
 *   complete pairs of factors
 */
export async function openAdapter(directory: string): Promise<Adapter> {
  const root = resolve(directory);
  const layout = await layoutOf(root);
  const { file, names, isTransposed, scale } = LAYOUTS[layout];
  const configPath = join(root, 'adapter_config.json');
  const scaleOf = scale(new ConfigReader(await readJson(configPath, MAX_CONFIG_BYTES), configPath));
  const path = join(root, file);
  const factors = new Map<string, { down?: TensorView; up?: TensorView }>();
  for (const [name, tensor] of (await openSafetensors(path)).tensors) {
    const [, prefix, side] = names.exec(name) ?? [];
    if (prefix === undefined || side === undefined || tensor.shape.length !== 2) {
      throw invalid(path, name, 'a matrix of a low-rank pair', 'another tensor');
    }
    const module = canonicalName(prefix);
    const pair = factors.get(module) ?? {};
    factors.set(module, { ...pair, [side.toLowerCase() === 'a' ? 'down' : 'up']: tensor });
  }
  const modules = Array.from(factors, ([module, { down, up }]) => {
    if (!down || !up)
      throw invalid(path, module, 'both factors', `only ${down ? 'the first' : 'the second'}`);
    return adapterModule(path, module, { down, up, isTransposed, scaleOf });
  });
  if (modules.length === 0) throw invalid(path, 'the file', 'at least one pair of factors', 'none');
  return { directory: root, layout, modules };
}

function adapterModule(
  path: string,
  module: string,
  stored: { down: TensorView; up: TensorView; isTransposed: boolean; scaleOf: AdapterScale },
): AdapterModule {
  const { down, up, isTransposed, scaleOf } = stored;
  const [rank, columns] = isTransposed ? down.shape.toReversed() : down.shape;
  const [rows, upRank] = isTransposed ? up.shape.toReversed() : up.shape;
  if (rank === undefined || rows === undefined || columns === undefined || rank !== upRank || rank === 0) {
    throw invalid(path, module, 'factors of the same rank', `[${down.shape}] and [${up.shape}]`);
  }
  const scale = scaleOf(module, rank);
  return {
    module,
    rank,
    rows,
    columns,
    async read() {
      const [a, b] = [await down.readFloat32(), await up.readFloat32()];
      return {
        down: isTransposed ? transposed(a, columns, rank) : a,
        up: (isTransposed ? transposed(b, rank, rows) : b).map((value) => value * scale),
      };
    },
  };
}

async function layoutOf(root: string): Promise<Adapter['layout']> {
  for (const layout of ['peft', 'mlx'] as const) {
    if (await isFile(join(root, LAYOUTS[layout].file))) return layout;
  }
  const reason = 'it has neither adapter_model.safetensors of PEFT nor adapters.safetensors of MLX';
  throw new FileAccessError({ path: root, operation: 'open the adapter', reason });
}

/** [columns, rows] of [rows, columns]. */
function transposed(values: Float32Array, rows: number, columns: number): Float32Array {
  return Float32Array.from(values, (_, i) => values[(i % rows) * columns + Math.floor(i / rows)]!);
}

function invalid(path: string, key: string, expected: string, received: string): InvalidConfigError {
  return new InvalidConfigError({ path, key, expected, received });
}
