import type { Fusion } from './fusion.js';

/** add(h, rmsNorm(a)) → one rmsNorm with a residual, over whole rows or per head. */
export const residualNorm: Fusion = {
  name: 'residual-norm',
  match(node, uses) {
    if (node.kind !== 'elementwise' || node.op !== 'add' || node.b === null) return null;
    for (const [residual, normed] of [
      [node.a, node.b],
      [node.b, node.a],
    ] as const) {
      const norm = uses.producer(normed);
      if (norm?.kind !== 'rmsNorm' || norm.residual !== null || norm.gain === null || residual === normed)
        continue;
      if (!uses.isOnlyReadBy(normed, node)) continue;
      return { replacement: { ...norm, residual, y: node.y }, absorbed: [norm] };
    }
    return null;
  },
};

/** scale(rmsNorm with a residual) → the norm scales its output. */
export const residualScale: Fusion = {
  name: 'residual-norm',
  match(node, uses) {
    if (node.kind !== 'elementwise' || node.op !== 'scale') return null;
    const norm = uses.producer(node.a);
    if (norm?.kind !== 'rmsNorm' || norm.residual === null || norm.outputScale !== 1) return null;
    if (!uses.isOnlyReadBy(node.a, node)) return null;
    return { replacement: { ...norm, outputScale: node.scale, y: node.y }, absorbed: [norm] };
  },
};
