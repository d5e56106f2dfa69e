import type { FeedForward, Ops, Routing, RowAxis, Value } from '@markbase/metal-runtime';
import type { MixtureConfig } from './config.js';
import type { MixtureWeights } from './weights.js';

/**
 * The feed-forward block of a layer with experts, [R, D] → [R, D] (docs/gemma4.md section 2.4):
 * norm₁(dense(h)) + norm₂(Σ_x share_x · expert_x(norm(h))).
 *
 * @param dense the layer's dense MLP with its own norm; it runs for every token
 */
export function mixtureFeedForward(
  config: MixtureConfig,
  weights: MixtureWeights,
  dense: FeedForward,
): FeedForward {
  const { normEps: eps } = config;
  return {
    run(ops, h) {
      const denseResult = dense.run(ops, h);
      const routing = ops.scope('router', () => chooseExperts(ops, config, weights, h));
      const mixed = ops.scope('experts', () => {
        return mixExperts(ops, weights, ops.rmsNorm(h, weights.expertsNorm, { eps }), routing);
      });
      // Consecutive, so that a backend can run both norms at once.
      const m1 = ops.rmsNorm(denseResult, weights.denseNorm, { eps });
      return ops.add(m1, ops.rmsNorm(mixed, weights.mixtureNorm, { eps }));
    },
  };
}

/**
 * Chooses experts by the un-normed stream: logits = (norm(h) · router.scale · D^(-1/2)) Wᵀ, softmax, top-k, renormalised,
 * times per_expert_scale (docs/gemma4.md section 2.9). The factor D^(-1/2) is applied to the logits. Computed in float32 in
 * both precisions.
 */
export function chooseExperts<R extends RowAxis>(
  ops: Ops,
  config: MixtureConfig,
  weights: Pick<MixtureWeights, 'router' | 'routerGain' | 'perExpertScale'>,
  h: Value<R, 'D'>,
): Routing<R> {
  const x = ops.rmsNorm(h, weights.routerGain, { eps: config.normEps });
  const logits = ops.linear(x, weights.router, { precision: 'high' });
  return ops.moeRoute(logits, weights.perExpertScale, {
    topK: config.topK,
    scale: config.hiddenWidth ** -0.5,
  });
}

/** Σ_x share_x · down_x(gelu_tanh(gate_x(x)) · up_x(x)) over the chosen experts. */
function mixExperts<R extends RowAxis>(
  ops: Ops,
  { gate, up, down }: MixtureWeights,
  x: Value<R, 'D'>,
  routing: Routing<R>,
): Value<R, 'D'> {
  const gated = ops.geglu(ops.moeLinear(x, gate, routing), ops.moeLinear(x, up, routing)); // [R, XF]
  return ops.moeCombine(ops.moeLinear(gated, down, routing), routing);
}
