import { UnsupportedModelError } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';

/** Sizes of a mixture of experts, named after their axes. */
export interface MixtureConfig {
  /** D */
  readonly hiddenWidth: number;
  /** E */
  readonly expertCount: number;
  /** X: experts that run for a token. */
  readonly topK: number;
  /** F of one expert. */
  readonly expertWidth: number;
  /** Added to the mean square in every norm. */
  readonly normEps: number;
}

/**
 * Reads the sizes of the experts from a checkpoint's configuration.
 *
 * @throws UnsupportedModelError when the model has no experts
 */
export function mixtureConfig({ config }: Pick<Checkpoint, 'config'>): MixtureConfig {
  const { hiddenSize, rmsNormEps, experts } = config.text;
  if (!experts) {
    throw new UnsupportedModelError({
      modelType: config.modelType,
      reason:
        'config.json names no experts (enable_moe_block): a dense model needs no block of @markbase/moe',
    });
  }
  return {
    hiddenWidth: hiddenSize,
    expertCount: experts.count,
    topK: experts.topK,
    expertWidth: experts.intermediateSize,
    normEps: rmsNormEps,
  };
}
