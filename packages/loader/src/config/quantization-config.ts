import { InvalidConfigError, UnsupportedModelError } from '@markbase/core';
import { canonicalName } from '../checkpoint/weight-names.js';
import {
  type AffineBits,
  type AffineGroupSize,
  isAffineBits,
  isAffineGroupSize,
} from '../quantization/affine-codec.js';
import { layoutOfMethod } from '../quantization/foreign-layout.js';
import {
  FLOAT_FORMATS,
  isFloatMode,
  type QuantizationMode,
  type QuantizationParameters,
} from '../quantization/quantization-mode.js';
import type { ConfigReader } from './config-reader.js';

/** Bits and group size of one module. */
export interface AffineParameters {
  /** Bits of a code. */
  readonly bits: AffineBits;
  /** Adjacent columns of a row that share a scale and a bias. */
  readonly groupSize: AffineGroupSize;
}

/** The `quantization` object of an MLX checkpoint. */
export type QuantizationConfig = QuantizationParameters & {
  /** Exceptions by canonical module path; false = the module is not quantised. */
  readonly overrides: ReadonlyMap<string, QuantizationParameters | false>;
};

const DEFAULT_BITS = 4;
const DEFAULT_GROUP_SIZE = 64;
const GENERAL_KEYS = new Set(['group_size', 'bits', 'mode']);

/**
 * Parses `quantization`, or its copy `quantization_config`; null when the checkpoint is not quantised.
 *
 * @throws UnsupportedModelError for the layouts of other tools, by name; InvalidConfigError for wrong values
 */
export function parseQuantization(root: ConfigReader): QuantizationConfig | null {
  const reader = root.object('quantization') ?? root.object('quantization_config');
  if (reader === null) return null;
  if (reader.has('quant_method')) {
    const method = reader.raw('quant_method');
    throw foreignLayoutError(root.string('model_type', ''), layoutOfMethod(String(method)));
  }
  const modelType = root.string('model_type', '');
  const overrides = new Map<string, QuantizationParameters | false>();
  for (const key of reader.keys()) {
    if (GENERAL_KEYS.has(key)) continue;
    const value = reader.raw(key);
    if (typeof value === 'boolean') {
      // true adds nothing to the general rule.
      if (!value) overrides.set(canonicalName(key), false);
      continue;
    }
    // Other keys of the object, which are not modules, are ignored.
    if (typeof value !== 'object' || value === null) continue;
    overrides.set(canonicalName(key), parseParameters(reader.object(key)!, modelType));
  }
  return { ...parseParameters(reader, modelType), overrides };
}

/** The error for a checkpoint in the layout of another tool. */
export function foreignLayoutError(modelType: string, layout: string): UnsupportedModelError {
  return new UnsupportedModelError({
    modelType,
    reason:
      `its weights are stored as ${layout}; supported are plain weights and the MLX layout ` +
      '(affine, mxfp4, mxfp8, nvfp4). Take the original checkpoint with plain weights; ' +
      '"markbase quantize FROM TO" writes it in any of these formats',
  });
}

/** What the config says about a module, by canonical path; null = it is not quantised. */
export function parametersOf(
  quantization: QuantizationConfig,
  module: string,
): QuantizationParameters | null {
  const own = quantization.overrides.get(module);
  if (own === false) return null;
  const { mode, bits, groupSize } = own ?? quantization;
  return { mode, bits, groupSize } as QuantizationParameters;
}

function parseParameters(reader: ConfigReader, modelType: string): QuantizationParameters {
  const mode = reader.string('mode', 'affine');
  if (isFloatMode(mode)) {
    const format = FLOAT_FORMATS[mode];
    // A wrong number here is checked against the stored shapes, which can be read in only one way.
    return {
      mode,
      bits: reader.integer('bits', { fallback: format.bits }),
      groupSize: reader.integer('group_size', { fallback: format.groupSize }),
    };
  }
  if (mode !== 'affine') {
    throw new UnsupportedModelError({
      modelType,
      reason: `quantisation mode "${mode}"; supported are "affine", "mxfp4", "mxfp8" and "nvfp4"`,
    });
  }
  const bits = reader.integer('bits', { fallback: DEFAULT_BITS });
  const groupSize = reader.integer('group_size', { fallback: DEFAULT_GROUP_SIZE });
  if (!isAffineBits(bits)) return reader.fail('bits', '2, 3, 4, 5, 6 or 8');
  if (!isAffineGroupSize(groupSize)) return reader.fail('group_size', '32, 64 or 128');
  return { mode, bits, groupSize };
}

/** The error for a module whose arrays can be read in several ways, none of which matches config.json. */
export function ambiguousStorage(
  path: string,
  module: string,
  readings: readonly QuantizationParameters[],
  said: QuantizationParameters | null,
): InvalidConfigError {
  return new InvalidConfigError({
    path,
    key: `quantization["${module}"]`,
    expected: `one of ${readings.map(shownParameters).join('; ')}, as its arrays allow`,
    received: said === null ? false : shownParameters(said),
  });
}

/** Parameters in words, such as `affine, 4 bits, groups of 64`. */
export function shownParameters({
  mode,
  bits,
  groupSize,
}: {
  readonly mode: QuantizationMode;
  readonly bits: number;
  readonly groupSize: number;
}): string {
  return `${mode}, ${bits} bits, groups of ${groupSize}`;
}
