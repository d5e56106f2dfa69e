import type { Fusion } from './fusion.js';
import { rowNormOf } from './row-norm.js';

/** linear(rmsNorm(x)) → the command normalises its rows itself. */
export const normLinear: Fusion = {
  name: 'norm-linear',
  match(node, uses) {
    if (node.kind !== 'linear' || node.norm || node.residual) return null;
    const found = rowNormOf(node.x, node, uses);
    return found && { replacement: { ...node, x: found.x, norm: found.norm }, absorbed: [found.node] };
  },
};

/** linear(gatherRows(x)) → the command reads the output rows of x itself. */
export const gatherLinear: Fusion = {
  name: 'gather-linear',
  match(node, uses) {
    if (node.kind !== 'linear' || node.gathered !== null || node.residual) return null;
    const gather = uses.producer(node.x);
    if (gather?.kind !== 'gatherRows' || !uses.isOnlyReadBy(node.x, node)) return null;
    return { replacement: { ...node, x: gather.x, gathered: gather.y }, absorbed: [gather] };
  },
};

/**
 * linear(rmsNorm with a residual) → the command adds the residual itself and stores the sum for its other readers.
 * On a GPU every threadgroup repeats the norm of a row, which is cheaper than a separate dispatch.
 */
export const residualLinear: Fusion = {
  name: 'residual-linear',
  match(node, uses, graph) {
    if (node.kind !== 'linear' || node.residual) return null;
    const norm = uses.producer(node.x);
    if (norm?.kind !== 'rmsNorm' || norm.residual === null || norm.gain === null) return null;
    // The prologue normalises whole rows.
    if (norm.groups !== 1) return null;
    if (node.norm && node.norm.eps !== norm.eps) return null;
    // The sum is stored when this command runs, so nothing may read it earlier.
    if (graph.values[node.x]!.view !== null || uses.readers(node.x)[0] !== node) return null;
    // Nothing else reads gathered rows.
    if (node.gathered !== null && !uses.isOnlyReadBy(node.x, node)) return null;
    const residual = {
      residual: norm.residual,
      gain: norm.gain,
      eps: norm.eps,
      scale: norm.outputScale,
      h: node.gathered ?? norm.y,
    };
    return { replacement: { ...node, x: norm.x, residual }, absorbed: [norm] };
  },
};
