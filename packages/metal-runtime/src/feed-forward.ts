import type { RowAxis } from './axes.js';
import type { Device } from './device.js';
import type { Ops } from './ops/ops.js';
import type { Value } from './ops/value.js';

/** A block that stands for the feed-forward branch of a decoder layer: it records ops, and knows its own weights. */
export interface FeedForward {
  /**
   * `[R, D]` → `[R, D]`: the branch of the residual stream `h`, which comes un-normed, up to but without the norm that
   * precedes the addition to the stream.
   */
  run<R extends RowAxis>(ops: Ops, h: Value<R, 'D'>): Value<R, 'D'>;

  /** Frees what the block mapped or allocated; called when its model is disposed. */
  dispose?(): void;
}

/**
 * What is known of a layer when its block is built.
 *
 * @typeParam Source what weights are found in: the loader's `Checkpoint`, which this package does not know
 */
export interface FeedForwardRequest<Source> {
  readonly checkpoint: Source;
  readonly device: Device;
  readonly layerIndex: number;
  /** The layer's dense MLP behind its own norm; a mixture of experts runs beside it. */
  readonly dense: FeedForward;
}

/**
 * Builds the feed-forward block of a layer with experts; called once per layer, when the model is loaded. The block is
 * disposed with the model.
 */
export type FeedForwardFactory<Source> = (
  request: FeedForwardRequest<Source>,
) => FeedForward | Promise<FeedForward>;
