import { isPlainNorm } from '../../../families/rms_norm/node.js';
import { findByLast, type MergeRule } from './merge.js';

/** residual + rmsNorm(x), where the residual is a norm that no other node reads: the two branches of a layer with experts. */
export const normPair: MergeRule = {
  name: 'norm-pair',
  isAtOnce: true,
  place: 'last',
  find: (graph, uses) =>
    findByLast(graph, (node) => {
      if (node.kind !== 'rmsNorm' || node.residual === null || node.groups !== 1) return null;
      const first = uses.producer(node.residual);
      if (first?.kind !== 'rmsNorm' || !isPlainNorm(first)) return null;
      return uses.isOnlyReadBy(node.residual, node) ? [first, node] : null;
    }),
};
