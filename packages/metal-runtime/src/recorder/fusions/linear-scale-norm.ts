import { findByLast, type MergeRule } from './merge.js';
import { plainLinear } from './plain-linear.js';

/** rmsNormHeads(scale(linear)): products that only the norm reads, such as those of per-layer embeddings. */
export const linearScaleNorm: MergeRule = {
  name: 'linear-scale-norm',
  isAtOnce: true,
  place: 'last',
  find: (graph, uses) =>
    findByLast(graph, (node) => {
      if (node.kind !== 'rmsNorm' || !uses.isOnlyReadBy(node.x, node)) return null;
      const scale = uses.producer(node.x);
      if (scale?.kind !== 'elementwise' || scale.op !== 'scale' || !uses.isOnlyReadBy(scale.a, scale))
        return null;
      const linear = plainLinear(uses.producer(scale.a));
      if (!linear || linear.weights[0]!.clip || linear.gathered !== null) return null;
      return [linear, scale, node];
    }),
};
