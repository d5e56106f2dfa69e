import { checkOptionNames, type OptionNames } from '@markbase/core';
import { openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { readJson } from '../files/read-json.js';
import { MAX_CONFIG_BYTES } from '../limits.js';
import { toFloat32 } from '../quantization/float-conversion.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';
import type { TensorView } from '../safetensors/tensor-view.js';

/** How two tensors of the same name differ. */
export interface TensorDifference {
  /** Name of the tensor. */
  readonly name: string;
  /** dtype or shape: the values were not compared. values: the bytes differ. */
  readonly kind: 'dtype' | 'shape' | 'values';
  /** The left tensor, in words. */
  readonly left: string;
  /** The right tensor, in words. */
  readonly right: string;
  /** Largest absolute difference of the values; null where it was not computed. */
  readonly maxAbsDifference: number | null;
}

/** The differences between two checkpoints or files. */
export interface CheckpointDiff {
  /** True if names, element types, shapes and bytes of all tensors are equal. */
  readonly isEqual: boolean;
  /** Tensors that only the left checkpoint has. */
  readonly onlyLeft: readonly string[];
  /** Tensors that only the right checkpoint has. */
  readonly onlyRight: readonly string[];
  /** Tensors that both have and that differ. */
  readonly different: readonly TensorDifference[];
  /** Keys of config.json with different values, as paths with dots; empty for single files. */
  readonly configKeys: readonly string[];
  /** Number of equal tensors. */
  readonly equalCount: number;
}

/** Options of `diffCheckpoints`. */
export interface DiffOptions {
  /** true (default): bytes are compared. false: headers alone. */
  readonly values?: boolean;
  /** Aborts the work, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

const OPTIONS: OptionNames<DiffOptions> = { values: true, signal: true };

/**
 * Compares two checkpoint folders by canonical names, or two safetensors files by the names in them.
 *
 * @throws as `openCheckpoint` and `openSafetensors`
 */
export async function diffCheckpoints(
  left: string,
  right: string,
  options: DiffOptions = {},
): Promise<CheckpointDiff> {
  checkOptionNames(options, OPTIONS);
  const [a, b] = [await openSide(left, options.signal), await openSide(right, options.signal)];
  const different: TensorDifference[] = [];
  let equalCount = 0;
  for (const [name, one] of a.tensors) {
    const other = b.tensors.get(name);
    if (other === undefined) continue;
    options.signal?.throwIfAborted();
    const difference = await compare(name, one, other, options);
    if (difference === null) equalCount++;
    else different.push(difference);
  }
  const onlyLeft = [...a.tensors.keys()].filter((name) => !b.tensors.has(name));
  const onlyRight = [...b.tensors.keys()].filter((name) => !a.tensors.has(name));
  const configKeys = a.config && b.config ? differentKeys(a.config, b.config, '') : [];
  const isEqual = [onlyLeft, onlyRight, different, configKeys].every((list) => list.length === 0);
  return { isEqual, onlyLeft, onlyRight, different, configKeys, equalCount };
}

/** A folder or a file that is compared. */
interface Side {
  readonly tensors: ReadonlyMap<string, TensorView>;
  readonly config: object | null;
}

async function openSide(path: string, signal: AbortSignal | undefined): Promise<Side> {
  if (path.endsWith('.safetensors')) return { tensors: (await openSafetensors(path)).tensors, config: null };
  const checkpoint = await openCheckpoint(path, { signal });
  const config = await readJson(checkpoint.configPath, MAX_CONFIG_BYTES);
  return { tensors: new Map(checkpoint.weights.entries()), config: config as object };
}

async function compare(
  name: string,
  left: TensorView,
  right: TensorView,
  options: DiffOptions,
): Promise<TensorDifference | null> {
  const found = (kind: TensorDifference['kind'], a: string, b: string, max: number | null) => ({
    name,
    kind,
    left: a,
    right: b,
    maxAbsDifference: max,
  });
  if (left.dtype !== right.dtype) return found('dtype', left.dtype, right.dtype, null);
  const shapes = [left, right].map(({ shape }) => `[${shape.join(', ')}]`) as [string, string];
  if (shapes[0] !== shapes[1]) return found('shape', ...shapes, null);
  if (options.values === false) return null;
  let differentBytes = 0;
  let max: number | null = null;
  const others = right.chunks();
  for await (const bytes of left.chunks()) {
    options.signal?.throwIfAborted();
    const other = (await others.next()).value as Uint8Array;
    if (Buffer.compare(bytes, other) === 0) continue;
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== other[i]) differentBytes++;
    if (isReal(left)) max = Math.max(max ?? 0, maxDifference(bytes, other, left));
  }
  if (differentBytes === 0) return null;
  const of = `${differentBytes} of ${left.range.sizeBytes} bytes differ`;
  return found('values', of, of, max);
}

/** Types whose elements are whole bytes and real numbers. */
function isReal({ dtype }: TensorView): boolean {
  return !/^(?:C64|F4|F6_)/.test(dtype);
}

function maxDifference(left: Uint8Array, right: Uint8Array, { dtype }: TensorView): number {
  const [a, b] = [toFloat32(left, dtype), toFloat32(right, dtype)];
  let max = 0;
  for (let i = 0; i < a.length; i++) max = Math.max(max, Math.abs(a[i]! - b[i]!));
  return max;
}

/** Keys at which two parsed JSON values differ. */
function differentKeys(left: unknown, right: unknown, path: string): string[] {
  if (!isObject(left) || !isObject(right)) {
    return JSON.stringify(left) === JSON.stringify(right) ? [] : [path];
  }
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].flatMap((key) =>
    differentKeys(own(left, key), own(right, key), path === '' ? key : `${path}.${key}`),
  );
}

function own(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
