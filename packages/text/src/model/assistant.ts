import { InvalidArgumentError } from '@markbase/core';
import type { ExpertMatrix, Matrix, Ops, Value, Vector } from '@markbase/metal-runtime';
import { decoderLayer } from './decoder-layer.js';
import type { Layer } from './layer.js';
import type { RowInputs } from './row-inputs.js';

/** Names of the inputs and outputs of a recorded assistant. */
export const ASSISTANT_PORTS = {
  /** [T, D] the target's hidden state after its final norm, or `next` of the guess before. */
  hidden: 'hidden',
  /** [T, K] cosines and sines of the row's position, by kind of layer. */
  rope: (index: number) => `rope ${index}`,
  /** [N, D] what takes the place of the target's hidden state for the next guess. */
  next: 'next',
  /** [N, V] logits of a plain head. */
  logits: 'logits',
  /** [N, X] the clusters that a part of a head by clusters has chosen. */
  clusters: (part: number) => `clusters ${part}`,
  /** [N, X · F] logits of the ids of these clusters. */
  candidates: (part: number) => `candidates ${part}`,
} as const;

/** The output head of an assistant: a product with the whole vocabulary, or with the likeliest clusters of ids. */
export type AssistantHead =
  | { readonly kind: 'plain'; readonly weight: Matrix<'V', 'D'> }
  | { readonly kind: 'clusters'; readonly topK: number; readonly parts: readonly ClusterPart[] };

/** Clusters of ids, as many as the kernels that choose among them can take. */
export interface ClusterPart {
  /** [E, D] a centroid per cluster. */
  readonly centroids: Matrix<'E', 'D'>;
  /** Ones: every cluster counts the same. */
  readonly scale: Vector<'E'>;
  /** The rows of the table of embeddings, cluster by cluster. */
  readonly embeddings: ExpertMatrix<'F', 'D'>;
  /** The ids, cluster by cluster. */
  readonly ids: Int32Array;
}

/** The weights of a drafter (docs/gemma4.md section 6), whose layers read the target's caches. */
export interface AssistantWeights {
  readonly normEps: number;
  /** [d, D] applied to the scaled embedding of the last token. */
  readonly fromEmbedding: Matrix<'D', 'D'>;
  /** [d, D] applied to the hidden state. */
  readonly fromHidden: Matrix<'D', 'D'>;
  readonly layers: readonly Layer[];
  readonly finalNorm: Vector<'D'>;
  /** [D, d] */
  readonly toHidden: Matrix<'D', 'D'>;
  readonly head: AssistantHead;
}

/**
 * Records a guess per row, [T] tokens and [T, D] hidden states → `next` and, by the kind of the head, `logits` or `clusters`
 * and `candidates`. A row's step position is the last one that it sees, one less than that of its rope tables.
 *
 * @param embedded [T, D] scaled embeddings of the last tokens, by the target's table
 * @returns logits of a plain head
 */
export function recordAssistant(
  ops: Ops,
  weights: AssistantWeights,
  embedded: Value<'T', 'D'>,
): Value<'N', 'V'> | null {
  const hidden = ops.input(ASSISTANT_PORTS.hidden, 'T', { axis: 'D', size: embedded.width });
  let h = ops.add(ops.linear(embedded, weights.fromEmbedding), ops.linear(hidden, weights.fromHidden));
  const inputs = ropeInputs(ops, weights.layers);
  for (const layer of weights.layers)
    h = ops.scope(`layer ${layer.index}`, () => decoderLayer(ops, layer, h, inputs));
  const normed = ops.gatherRows(ops.rmsNorm(h, weights.finalNorm, { eps: weights.normEps }));
  ops.output(ASSISTANT_PORTS.next, ops.linear(normed, weights.toHidden));
  return ops.scope('head', () => recordHead(ops, weights.head, normed));
}

function recordHead(ops: Ops, head: AssistantHead, h: Value<'N', 'D'>): Value<'N', 'V'> | null {
  if (head.kind === 'plain') return ops.linear(h, head.weight);
  for (const [index, { centroids, scale, embeddings }] of head.parts.entries()) {
    const topK = Math.min(head.topK, centroids.rows);
    const routing = ops.moeRoute(ops.linear(h, centroids, { precision: 'high' }), scale, { topK, scale: 1 });
    ops.output(ASSISTANT_PORTS.clusters(index), routing.experts);
    ops.output(ASSISTANT_PORTS.candidates(index), ops.moeLinear(h, embeddings, routing));
  }
  return null;
}

/** Rope tables come from the host: they belong to the position after the last one that a row sees. */
function ropeInputs(ops: Ops, layers: readonly Layer[]): RowInputs<'T'> {
  const tables = new Map<number, Value<'T', 'K'>>();
  for (const { attention } of layers) {
    const { ropeIndex, cache } = attention;
    if (tables.has(ropeIndex)) continue;
    const width = { axis: 'K' as const, size: cache.headWidth };
    tables.set(ropeIndex, ops.input(ASSISTANT_PORTS.rope(ropeIndex), 'T', width));
  }
  return {
    rope: (index) => tables.get(index)!,
    perLayer: (layerIndex) => {
      const expected = 'layers without per-layer embeddings';
      throw new InvalidArgumentError({ argument: 'assistant', expected, received: `layer ${layerIndex}` });
    },
  };
}
