import { UnsupportedModelError } from '@markbase/core';
import { ConfigReader } from './config-reader.js';

/** Rotary embedding of one layer: `inv_freq_i = theta^(-2i / headDim)` for i < rotaryPairs, else 0. */
export interface RopeConfig {
  /** Base of the frequencies. */
  readonly theta: number;
  /** Pairs (i, i + headDim / 2) that rotate; headDim / 2 = all of them. */
  readonly rotaryPairs: number;
}

/** One decoder layer. */
export interface LayerConfig {
  /** sliding: sees the last `slidingWindow` keys; full: sees all. */
  readonly kind: 'sliding' | 'full';
  /** K. */
  readonly headDim: number;
  /** G. */
  readonly kvHeadCount: number;
  /** F, doubled where the layer is double-wide. */
  readonly intermediateSize: number;
  /**
   * Layer whose keys and values this one reads instead of computing its own; null = it owns a cache. Always null in a
   * drafter, all of whose layers read the target's.
   */
  readonly kvSource: number | null;
  /** The value is the raw key projection: the layer has no v_proj. */
  readonly keyIsValue: boolean;
  /** The rotary embedding of queries and keys. */
  readonly rope: RopeConfig;
}

type Kind = LayerConfig['kind'];

const SLIDING = 'sliding_attention';
const FULL = 'full_attention';
/** Head widths of the released models: the default for a config that names neither width. */
const DEFAULT_HEAD_DIM = 256;
const DEFAULT_GLOBAL_HEAD_DIM = 512;
const DEFAULT_ROPE = {
  sliding: { theta: 10_000, type: 'default', partialFactor: 1 },
  full: { theta: 1_000_000, type: 'proportional', partialFactor: 0.25 },
} as const;

/**
 * Resolves everything in a text config that varies by layer.
 *
 * @throws InvalidConfigError, UnsupportedModelError
 */
export function parseLayers(reader: ConfigReader, layerCount: number, isAssistant: boolean): LayerConfig[] {
  const kinds = parseKinds(reader, layerCount);
  const overrides = parseOverrides(reader, layerCount);
  const firstShared = parseFirstShared(reader, layerCount, isAssistant);
  const isDoubleWide = reader.boolean('use_double_wide_mlp', false);
  const intermediateSize = reader.integer('intermediate_size');
  return kinds.map((kind, index) => {
    const headDim = parseHeadDim(reader, kind, overrides, index);
    return {
      kind,
      headDim,
      kvHeadCount: parseKvHeadCount(reader, kind, overrides.get(index)),
      intermediateSize: isDoubleWide && index >= firstShared ? 2 * intermediateSize : intermediateSize,
      kvSource: index >= firstShared ? kvSourceOf(reader, kinds, firstShared, kind) : null,
      keyIsValue: kind === 'full' && reader.boolean('attention_k_eq_v', false),
      rope: parseRope(reader, kind, headDim),
    };
  });
}

function parseKinds(reader: ConfigReader, layerCount: number): Kind[] {
  const types = reader.list('layer_types', layerCount);
  if (types !== null && types.length !== layerCount)
    reader.fail('layer_types', `a list of ${layerCount} items`);
  // E2B, the only variant with double-wide layers, has one full layer in five; all others one in six.
  const usualPeriod = reader.boolean('use_double_wide_mlp', false) ? 5 : 6;
  const period = reader.integer('sliding_window_pattern', { fallback: usualPeriod });
  return Array.from({ length: layerCount }, (_, index) => {
    // The last layer is full, regardless of the pattern.
    if (index === layerCount - 1) return 'full';
    if (types === null) return (index + 1) % period === 0 ? 'full' : 'sliding';
    if (types[index] === SLIDING) return 'sliding';
    if (types[index] === FULL) return 'full';
    return reader.fail('layer_types', `a list of "${SLIDING}" and "${FULL}"`);
  });
}

/** `per_layer_config`: exceptions for individual layers, keyed by an index that may have leading zeros. */
function parseOverrides(reader: ConfigReader, layerCount: number): Map<number, ConfigReader> {
  const overrides = new Map<number, ConfigReader>();
  const table = reader.object('per_layer_config');
  if (table === null) return overrides;
  for (const key of table.keys()) {
    const index = /^[0-9]{1,9}$/.test(key) ? Number(key) : -1;
    if (index < 0 || index >= layerCount || overrides.has(index)) {
      reader.fail('per_layer_config', `an object whose keys are different layers below ${layerCount}`);
    }
    const layer = table.object(key);
    if (layer !== null) overrides.set(index, layer);
  }
  return overrides;
}

function parseFirstShared(reader: ConfigReader, layerCount: number, isAssistant: boolean): number {
  const shared = reader.integer('num_kv_shared_layers', { min: 0, max: layerCount, fallback: 0 });
  if (isAssistant) return layerCount;
  if (shared === layerCount) reader.fail('num_kv_shared_layers', `less than num_hidden_layers ${layerCount}`);
  return layerCount - shared;
}

/** The last layer of the same kind that owns a cache. */
function kvSourceOf(reader: ConfigReader, kinds: readonly Kind[], firstShared: number, kind: Kind): number {
  const source = kinds.slice(0, firstShared).lastIndexOf(kind);
  if (source < 0)
    reader.fail('num_kv_shared_layers', `small enough that one ${kind} layer owns its keys and values`);
  return source;
}

function parseHeadDim(
  reader: ConfigReader,
  kind: Kind,
  overrides: Map<number, ConfigReader>,
  index: number,
): number {
  const own = overrides.get(index);
  if (own?.has('head_dim')) return evenHeadDim(own, 'head_dim');
  if (kind === 'full') {
    if (reader.has('global_head_dim')) return evenHeadDim(reader, 'global_head_dim');
    // With per-layer overrides, or with an explicit null, a full layer is as wide as the others.
    const isUniform = overrides.size > 0 || reader.raw('global_head_dim') === null;
    if (!isUniform) return DEFAULT_GLOBAL_HEAD_DIM;
  }
  return reader.has('head_dim') ? evenHeadDim(reader, 'head_dim') : DEFAULT_HEAD_DIM;
}

function evenHeadDim(reader: ConfigReader, key: string): number {
  const headDim = reader.integer(key);
  return headDim % 2 === 0 ? headDim : reader.fail(key, 'an even number');
}

function parseKvHeadCount(reader: ConfigReader, kind: Kind, own: ConfigReader | undefined): number {
  const headCount = reader.integer('num_attention_heads');
  const count = (from: ConfigReader, key: string): number => {
    const value = from.integer(key, { max: headCount });
    return headCount % value === 0 ? value : from.fail(key, `a divisor of num_attention_heads ${headCount}`);
  };
  if (own?.has('num_key_value_heads')) return count(own, 'num_key_value_heads');
  // The global count is honoured only together with attention_k_eq_v.
  const usesGlobal = kind === 'full' && reader.boolean('attention_k_eq_v', false);
  if (usesGlobal && reader.has('num_global_key_value_heads'))
    return count(reader, 'num_global_key_value_heads');
  return count(reader, 'num_key_value_heads');
}

function parseRope(reader: ConfigReader, kind: Kind, headDim: number): RopeConfig {
  const usual = DEFAULT_ROPE[kind];
  const own =
    reader.object('rope_parameters')?.object(kind === 'full' ? FULL : SLIDING) ??
    new ConfigReader({}, reader.path, 'rope_parameters.');
  const type = own.string('rope_type', usual.type);
  const theta = own.number('rope_theta', { min: 1, fallback: usual.theta });
  const fallback = type === 'proportional' ? DEFAULT_ROPE.full.partialFactor : 1;
  const partialFactor = own.number('partial_rotary_factor', { min: 0, max: 1, fallback });
  const isKnown = type === 'proportional' || (type === 'default' && partialFactor === 1);
  if (!isKnown) {
    throw new UnsupportedModelError({
      modelType: reader.string('model_type', 'gemma4_text'),
      reason: `rope_type "${type}" with partial_rotary_factor ${partialFactor}`,
    });
  }
  return { theta, rotaryPairs: Math.floor((partialFactor * headDim) / 2) };
}
