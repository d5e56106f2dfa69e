import { InvalidArgumentError } from '@markbase/core';
import { canonicalName } from '../checkpoint/weight-names.js';
import type { AffineParameters } from '../config/quantization-config.js';
import { isAffineBits, isAffineGroupSize } from './affine-codec.js';

/** What to do with the modules that a pattern matches. */
export interface QuantizeRule {
  /**
   * Pattern of module paths without `.weight`: `*` matches a part of one path segment, `**` for any number of
   * segments, such as `language_model.layers.*.mlp.*` or `**.router.proj`. Both spellings of the text prefix are accepted.
   */
  readonly match: string;
  /** 2, 3, 4, 5, 6 or 8; absent = the general setting. */
  readonly bits?: number;
  /** 32, 64 or 128; absent = the general setting. */
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
export type RuleTable = (module: string) => AffineParameters | null;

/**
 * Checks rules and compiles them into a table; the first match applies.
 *
 * @throws InvalidArgumentError for unknown bits or group sizes
 */
export function compileRules(
  rules: readonly QuantizeRule[],
  general: { bits: number; groupSize: number },
): RuleTable {
  const usual = checkedParameters(general, 'options');
  const compiled = rules.map((rule) => ({
    pattern: canonicalName(rule.match).split('.'),
    parameters:
      rule.skip === true
        ? null
        : checkedParameters(
            { bits: rule.bits ?? general.bits, groupSize: rule.groupSize ?? general.groupSize },
            `rule "${rule.match}"`,
          ),
  }));
  return (module) => {
    const found = compiled.find(({ pattern }) => matches(pattern, module));
    return found === undefined ? usual : found.parameters;
  };
}

function checkedParameters(
  { bits, groupSize }: { bits: number; groupSize: number },
  where: string,
): AffineParameters {
  if (isAffineBits(bits) && isAffineGroupSize(groupSize)) return { bits, groupSize };
  throw new InvalidArgumentError({
    argument: where,
    expected: 'bits 2, 3, 4, 5, 6 or 8 and a group size of 32, 64 or 128',
    received: { bits, groupSize },
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
