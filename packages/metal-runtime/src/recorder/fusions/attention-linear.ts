import { findByLast, type MergeRule } from './merge.js';
import { plainLinear } from './plain-linear.js';

/**
 * linear(attention): if the attention of a row is split over its positions, the linear adds the parts while it loads them. Attention reads
 * and writes caches, so it is not moved.
 */
export const attentionLinear: MergeRule = {
  name: 'attention-linear',
  isAtOnce: false,
  place: 'last',
  find: (graph, uses) =>
    findByLast(graph, (node, before) => {
      const linear = plainLinear(node);
      if (!linear || linear.weights[0]!.clip || before?.kind !== 'attention') return null;
      return linear.x === before.y && uses.isOnlyReadBy(before.y, node) ? [before, node] : null;
    }),
};
