import type { LinearNode } from '../../../families/linear/node.js';
import { isPlainNorm, type RmsNormNode } from '../../../families/rms_norm/node.js';
import type { Node } from '../graph.js';
import type { Uses } from '../uses.js';

/** A norm that its reader can do itself, as a prologue. */
export interface RowNorm {
  /** The rows before the norm. */
  readonly x: number;
  readonly norm: NonNullable<LinearNode['norm']>;
  readonly node: RmsNormNode;
}

/** The plain norm with a gain that wrote `id`, if only `reader` reads it; null otherwise. */
export function rowNormOf(id: number, reader: Node, uses: Uses): RowNorm | null {
  const node = uses.producer(id);
  if (node?.kind !== 'rmsNorm' || !isPlainNorm(node) || node.gain === null) return null;
  if (!uses.isOnlyReadBy(id, reader)) return null;
  return { x: node.x, norm: { gain: node.gain, eps: node.eps }, node };
}
