import type { FeedForward, Matrix, Vector } from '@markbase/metal-runtime';

/** Weights of a gated MLP and its input norm. */
export interface DenseWeights {
  readonly normEps: number;
  readonly norm: Vector<'D'>;
  readonly gate: Matrix<'F', 'D'>;
  readonly up: Matrix<'F', 'D'>;
  readonly down: Matrix<'D', 'F'>;
}

/** The dense feed-forward branch: down(gelu_tanh(gate(x)) · up(x)) with x = norm(h) (docs/gemma4.md section 2.1). */
export function denseFeedForward(weights: DenseWeights): FeedForward {
  return {
    run(ops, h) {
      const x = ops.rmsNorm(h, weights.norm, { eps: weights.normEps });
      return ops.linear(ops.geglu(ops.linear(x, weights.gate), ops.linear(x, weights.up)), weights.down);
    },
  };
}
