import { InvalidConfigError, UnsupportedModelError } from '@markbase/core';
import { canonicalName } from '../checkpoint/weight-names.js';
import {
  type AffineBits,
  type AffineGroupSize,
  isAffineBits,
  isAffineGroupSize,
} from '../quantization/affine-codec.js';
import type { ConfigReader } from './config-reader.js';

/** Bits and group size of one module. */
export interface AffineParameters {
  readonly bits: AffineBits;
  readonly groupSize: AffineGroupSize;
}

/** The `quantization` object of an MLX checkpoint. */
export interface QuantizationConfig extends AffineParameters {
  readonly mode: 'affine';
  /** Exceptions by canonical module path; false = the module is not quantised. */
  readonly overrides: ReadonlyMap<string, AffineParameters | false>;
}

const DEFAULT_BITS = 4;
const DEFAULT_GROUP_SIZE = 64;
const GENERAL_KEYS = new Set(['group_size', 'bits', 'mode']);

/**
 * Parses `quantization`, or its copy `quantization_config`; null when the checkpoint is not quantised.
 *
 * @throws UnsupportedModelError for layouts other than MLX affine; InvalidConfigError for wrong values
 */
export function parseQuantization(root: ConfigReader): QuantizationConfig | null {
  const reader = root.object('quantization') ?? root.object('quantization_config');
  if (reader === null) return null;
  const modelType = root.string('model_type', '');
  if (reader.has('quant_method')) {
    throw new UnsupportedModelError({
      modelType,
      reason: `quant_method ${JSON.stringify(reader.raw('quant_method'))}; only MLX affine quantisation is supported`,
    });
  }
  const overrides = new Map<string, AffineParameters | false>();
  for (const key of reader.keys()) {
    if (GENERAL_KEYS.has(key)) continue;
    const value = reader.raw(key);
    if (typeof value === 'boolean') {
      // true says nothing beyond the general rule.
      if (!value) overrides.set(canonicalName(key), false);
      continue;
    }
    // Other keys of the object that are no module are left to those who wrote them.
    if (typeof value !== 'object' || value === null) continue;
    overrides.set(canonicalName(key), parseParameters(reader.object(key)!, modelType));
  }
  return { mode: 'affine', ...parseParameters(reader, modelType), overrides };
}

/** What the config says about a module, by canonical path; null = it is not to be quantised. */
export function parametersOf(quantization: QuantizationConfig, module: string): AffineParameters | null {
  const own = quantization.overrides.get(module);
  if (own === false) return null;
  return own ?? { bits: quantization.bits, groupSize: quantization.groupSize };
}

function parseParameters(reader: ConfigReader, modelType: string): AffineParameters {
  const mode = reader.string('mode', 'affine');
  if (mode !== 'affine') {
    throw new UnsupportedModelError({
      modelType,
      reason: `quantisation mode "${mode}"; only "affine" is supported`,
    });
  }
  const bits = reader.integer('bits', { fallback: DEFAULT_BITS });
  const groupSize = reader.integer('group_size', { fallback: DEFAULT_GROUP_SIZE });
  if (!isAffineBits(bits)) return reader.fail('bits', '2, 3, 4, 5, 6 or 8');
  if (!isAffineGroupSize(groupSize)) return reader.fail('group_size', '32, 64 or 128');
  return { bits, groupSize };
}

/** The error for a module whose arrays are stored in another way than config.json says. */
export function storedOtherwise(
  path: string,
  module: string,
  key: 'bits' | 'group_size' | 'quantization',
  expected: string,
  received: unknown,
): InvalidConfigError {
  return new InvalidConfigError({ path, key: `quantization["${module}"].${key}`, expected, received });
}
