import type { RowAxis } from './axes.js';
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
