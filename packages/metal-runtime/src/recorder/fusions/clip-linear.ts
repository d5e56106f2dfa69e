import { type LinearClip, type LinearNode, NO_CLIP } from '../../../families/linear/node.js';
import type { Fusion } from './fusion.js';
import { plainLinear } from './plain-linear.js';

/** linear(clamp(x)) → the command clamps its rows itself. */
export const clipInput: Fusion = {
  name: 'clip-linear',
  match(node, uses) {
    const linear = plainLinear(node);
    if (!linear || clipOf(linear).inputLow !== Number.NEGATIVE_INFINITY) return null;
    if (clipOf(linear).inputHigh !== Number.POSITIVE_INFINITY) return null;
    const clamp = uses.producer(linear.x);
    if (clamp?.kind !== 'elementwise' || clamp.op !== 'clamp' || !uses.isOnlyReadBy(linear.x, linear)) {
      return null;
    }
    const clipped = withClip(linear, { inputLow: clamp.scale, inputHigh: clamp.high });
    return { replacement: { ...clipped, x: clamp.a }, absorbed: [clamp] };
  },
};

/** clamp(linear) → the command clamps its result. */
export const clipOutput: Fusion = {
  name: 'clip-linear',
  match(node, uses) {
    if (node.kind !== 'elementwise' || node.op !== 'clamp') return null;
    const linear = plainLinear(uses.producer(node.a));
    if (!linear || !uses.isOnlyReadBy(node.a, node)) return null;
    if (clipOf(linear).outputLow !== Number.NEGATIVE_INFINITY) return null;
    if (clipOf(linear).outputHigh !== Number.POSITIVE_INFINITY) return null;
    const clipped = withClip(linear, { outputLow: node.scale, outputHigh: node.high });
    const weights = [{ ...clipped.weights[0]!, y: node.y }];
    return { replacement: { ...clipped, weights }, absorbed: [linear] };
  },
};

function clipOf(linear: LinearNode): LinearClip {
  return linear.weights[0]!.clip ?? NO_CLIP;
}

function withClip(linear: LinearNode, bounds: Partial<LinearClip>): LinearNode {
  const [weight] = linear.weights;
  return { ...linear, weights: [{ ...weight!, clip: { ...clipOf(linear), ...bounds } }] };
}
