import type { RowAxis } from './axes.js';
import type { Device } from './device.js';
import type { Ops } from './ops.js';
import type { Value } from './value.js';

/** The feed-forward branch of a decoder layer as a block, which records its operations and owns its weights. */
export interface FeedForward {
  /**
   * `[R, D]` → `[R, D]`: the branch of the residual stream `h`, which is not yet normalised, up to but without the norm
   * before the addition to the stream.
   */
  run<R extends RowAxis>(ops: Ops, h: Value<R, 'D'>): Value<R, 'D'>;

  /** Frees what the block mapped or allocated; called when its model is disposed. */
  dispose?(): void;
}

/**
 * A layer, as described to the factory of its block.
 *
 * @typeParam Source where weights come from: the loader's `Checkpoint`, which this package does not know
 */
export interface FeedForwardRequest<Source> {
  /** Where the weights come from. */
  readonly checkpoint: Source;
  /** The device that the layer runs on. */
  readonly device: Device;
  /** Index of the layer, starting at 0. */
  readonly layerIndex: number;
  /** The layer's dense MLP after its own norm; a mixture of experts runs in parallel to it. */
  readonly dense: FeedForward;
}

/**
 * Builds the feed-forward block of a layer with experts; called once per layer when the model is loaded. The block is
 * disposed with the model.
 */
export type FeedForwardFactory<Source> = (
  request: FeedForwardRequest<Source>,
) => FeedForward | Promise<FeedForward>;
