import type { Checkpoint } from '@markbase/loader';
import type { Device, FeedForward } from '@markbase/metal-runtime';

/** What a factory needs to build the block of one layer. */
export interface FeedForwardRequest {
  readonly checkpoint: Checkpoint;
  readonly device: Device;
  readonly layerIndex: number;
  /** The layer's dense MLP behind its own norm; a mixture of experts runs beside it. */
  readonly dense: FeedForward;
}

/**
 * Builds the feed-forward block of a layer with experts; called once per layer, when the model is loaded. The block is
 * disposed with the model.
 */
export type FeedForwardFactory = (request: FeedForwardRequest) => FeedForward | Promise<FeedForward>;
