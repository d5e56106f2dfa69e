import { InvalidArgumentError } from '@markbase/core';
import type { Graph } from '../graph.js';
import { applyFusion, type Fusion } from './fusion.js';
import { geglu, softcap } from './linear-epilogue.js';
import { linearGroup } from './linear-group.js';
import { normLinear, residualLinear } from './linear-prologue.js';
import { moeCombineLinear, moeGeglu, normMoeLinear, routeMoeLinear } from './moe.js';
import { prepareAttention } from './prepare-attention.js';
import { residualNorm, residualScale } from './residual-norm.js';

/** The fusions in the order in which they are applied: each builds on what those before it left. */
const FUSIONS: readonly Fusion[] = [
  linearGroup,
  geglu,
  softcap,
  residualNorm,
  residualScale,
  normLinear,
  residualLinear,
  prepareAttention,
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
}
