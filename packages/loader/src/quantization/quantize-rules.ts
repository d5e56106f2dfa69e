import { InvalidArgumentError } from '@markbase/core';
import { canonicalName } from '../checkpoint/weight-names.js';
import { isAffineBits, isAffineGroupSize } from './affine-codec.js';
import {
  FLOAT_FORMATS,
  isFloatMode,
  type QuantizationMode,
  type QuantizationParameters,
} from './quantization-mode.js';

/** What to do with the modules that a pattern matches. */
export interface QuantizeRule {
  /**
   * Pattern of module paths without `.weight`: `*` matches a part of one path segment, `**` for any number of
   * segments, such as `language_model.layers.*.mlp.*` or `**.router.proj`. Both spellings of the text prefix are accepted.
   */
  readonly match: string;
  /** Absent = affine if `bits` or `groupSize` is given, otherwise the general setting. */
  readonly mode?: QuantizationMode;
  /** affine: 2, 3, 4, 5, 6 or 8; absent = the general setting, or 4. The other modes fix it. */
  readonly bits?: number;
  /** affine: 32, 64 or 128; absent = the general setting, or 64. The other modes fix it. */
  readonly groupSize?: number;
  /** true = the module is copied as it is. */
  readonly skip?: boolean;
}

/**
 * Rules that apply where no rule of the caller matches. Routers and the per-layer embedding lose too much with 4 bits; the
 * modules around the audio convolutions stay plain, as in published MLX checkpoints.
 */
export const DEFAULT_QUANTIZE_RULES: readonly QuantizeRule[] = [
  { match: '**.router.proj', bits: 8 },
  { match: '**.embed_tokens_per_layer', bits: 8 },
  { match: 'audio_tower.subsample_conv_projection.**', skip: true },
  { match: 'audio_tower.**.lconv1d.**', skip: true },
];

/** Rules for `towers: 'keep'`: the encoders are copied as they are. */
export const KEEP_TOWERS_RULES: readonly QuantizeRule[] = [
  { match: 'vision_tower.**', skip: true },
  { match: 'audio_tower.**', skip: true },
];

/** Finds the parameters of a module by its canonical path; null = it is not quantised. */
export type RuleTable = (module: string) => QuantizationParameters | null;

/** A mode with its parameters, as far as they are given. */
type Wanted = Pick<QuantizeRule, 'mode' | 'bits' | 'groupSize'>;

const DEFAULT_BITS = 4;
const DEFAULT_GROUP_SIZE = 64;

/**
 * Checks rules and compiles them into a table; the first match applies.
 *
 * @throws InvalidArgumentError for unknown bits or group sizes
 */
export function compileRules(rules: readonly QuantizeRule[], general: Wanted): RuleTable {
  const usual = generalParameters(general);
  const compiled = rules.map((rule) => ({
    pattern: canonicalName(rule.match).split('.'),
    parameters: rule.skip === true ? null : parametersOfRule(rule, usual),
  }));
  return (module) => {
    const found = compiled.find(({ pattern }) => matches(pattern, module));
    return found === undefined ? usual : found.parameters;
  };
}

/** The parameters of modules that no rule matches. */
export function generalParameters({ mode = 'affine', bits, groupSize }: Wanted): QuantizationParameters {
  return checkedParameters({ mode, bits, groupSize }, 'options', DEFAULT_BITS, DEFAULT_GROUP_SIZE);
}

function parametersOfRule(rule: QuantizeRule, usual: QuantizationParameters): QuantizationParameters {
  const { match, bits, groupSize } = rule;
  const hasOwn = bits !== undefined || groupSize !== undefined;
  const mode = rule.mode ?? (hasOwn ? 'affine' : usual.mode);
  const isLikeUsual = usual.mode === 'affine';
  return checkedParameters(
    { mode, bits, groupSize },
    `rule "${match}"`,
    isLikeUsual ? usual.bits : DEFAULT_BITS,
    isLikeUsual ? usual.groupSize : DEFAULT_GROUP_SIZE,
  );
}

function checkedParameters(
  wanted: Wanted & { mode: QuantizationMode },
  where: string,
  usualBits: number,
  usualGroupSize: number,
): QuantizationParameters {
  const { mode } = wanted;
  if (isFloatMode(mode)) {
    const fixed = FLOAT_FORMATS[mode];
    const { bits = fixed.bits, groupSize = fixed.groupSize } = wanted;
    if (bits === fixed.bits && groupSize === fixed.groupSize) return fixed;
    throw new InvalidArgumentError({
      argument: where,
      expected: `${fixed.bits} bits and groups of ${fixed.groupSize}, which ${mode} fixes`,
      received: { bits, groupSize },
    });
  }
  const { bits = usualBits, groupSize = usualGroupSize } = wanted;
  if (mode === 'affine' && isAffineBits(bits) && isAffineGroupSize(groupSize))
    return { mode, bits, groupSize };
  throw new InvalidArgumentError({
    argument: where,
    expected:
      'mode mxfp4, mxfp8 or nvfp4, or affine with bits 2, 3, 4, 5, 6 or 8 and a group size of 32, 64 or 128',
    received: { mode, bits, groupSize },
  });
}

/** Matches a module path against a pattern, segment by segment. */
function matches(pattern: readonly string[], module: string): boolean {
  return matchesWithStars(pattern, module.split('.'), '**', (part, segment) =>
    matchesWithStars([...part], [...segment], '*', (a, b) => a === b),
  );
}

/**
 * Matches a list against a pattern in which `star` matches any number of items.
 *
 * Only the last star is ever widened, which suffices and keeps the time at the product of the lengths.
 */
function matchesWithStars(
  pattern: readonly string[],
  items: readonly string[],
  star: string,
  isSame: (part: string, item: string) => boolean,
): boolean {
  let part = 0;
  let item = 0;
  let lastStar = -1;
  let retryAt = 0;
  while (item < items.length) {
    if (pattern[part] === star) {
      lastStar = part++;
      retryAt = item;
    } else if (part < pattern.length && isSame(pattern[part]!, items[item]!)) {
      part++;
      item++;
    } else if (lastStar >= 0) {
      part = lastStar + 1;
      item = ++retryAt;
    } else return false;
  }
  return pattern.slice(part).every((rest) => rest === star);
}
