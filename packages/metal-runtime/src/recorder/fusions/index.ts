import { InvalidArgumentError } from '@markbase/core';
import type { Graph } from '../graph.js';
import { clampClamp } from './clamp-clamp.js';
import { clipInput, clipOutput } from './clip-linear.js';
import { applyFusion, type Fusion } from './fusion.js';
import { geglu, softcap } from './linear-epilogue.js';
import { linearGroup } from './linear-group.js';
import { gatherLinear, normLinear, residualLinear } from './linear-prologue.js';
import { moeCombineLinear, moeGeglu, normMoeLinear, routeMoeLinear } from './moe.js';
import { prepareAttention } from './prepare-attention.js';
import { prepareSegmentAttention } from './prepare-segment-attention.js';
import { residualNorm, residualScale } from './residual-norm.js';

/** The fusions in the order in which they are applied: each builds on what those before it left. */
const FUSIONS: readonly Fusion[] = [
  clampClamp,
  clipInput,
  clipOutput,
  linearGroup,
  geglu,
  softcap,
  residualNorm,
  residualScale,
  normLinear,
  gatherLinear,
  residualLinear,
  prepareAttention,
  prepareSegmentAttention,
  moeGeglu,
  moeCombineLinear,
  normMoeLinear,
  routeMoeLinear,
];

/** Names of the switches in `RecordOptions.fusions`. */
export const FUSION_NAMES: readonly string[] = [...new Set(FUSIONS.map((fusion) => fusion.name))];

/** Fuses a graph in place; `fusions` as in `RecordOptions`. */
export function fuse(graph: Graph, fusions: false | { without: readonly string[] } | undefined): void {
  if (fusions === false) return;
  const without = fusions?.without ?? [];
  const unknown = without.find((name) => !FUSION_NAMES.includes(name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError({
      argument: 'fusions.without',
      expected: `names among ${FUSION_NAMES.join(', ')}`,
      received: unknown,
    });
  }
  for (const fusion of FUSIONS) {
    if (!without.includes(fusion.name)) applyFusion(graph, fusion);
  }
  beginWithSources(graph);
}

/**
 * Moves what waits for nothing, embeddings and rope tables, to the beginning: a GPU then does all of it at once. What is
 * inserted into an embedding comes in with the step.
 */
function beginWithSources(graph: Graph): void {
  const isSource = (node: Graph['nodes'][number]) => node.kind === 'embed' || node.kind === 'ropeTable';
  graph.nodes = [...graph.nodes.filter(isSource), ...graph.nodes.filter((node) => !isSource(node))];
}
