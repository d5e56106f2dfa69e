import type { Checkpoint } from '@markbase/loader';
import type { FeedForward, FeedForwardRequest } from '@markbase/metal-runtime';
import { mixtureConfig } from './config.js';
import { mixtureFeedForward } from './mixture-feed-forward.js';
import { loadMixture } from './weights.js';

/**
 * Builds the feed-forward block of one layer with experts: pass it as the option `feedForward` of `TextModel.load`.
 * Weights are mapped, not read. Disposing the block frees them.
 *
 * @throws UnsupportedModelError when the model has no experts
 * @throws WeightMapError when tensors of the layer are missing or wrong, or the experts are named in an unknown way
 */
export function mixtureOfExperts({
  checkpoint,
  device,
  layerIndex,
  dense,
}: FeedForwardRequest<Checkpoint>): FeedForward {
  const config = mixtureConfig(checkpoint);
  const { weights, dispose } = loadMixture(checkpoint, device, config, layerIndex);
  const disposeAll = (): void => {
    dense.dispose?.();
    dispose();
  };
  return { ...mixtureFeedForward(config, weights, dense), dispose: disposeAll };
}
