import { InvalidArgumentError } from '@markbase/core';
import type { RecordOptions } from '../../program.js';
import type { Graph } from '../graph.js';
import { attentionLinear } from './attention-linear.js';
import { beginStep } from './begin-step.js';
import { clampClamp } from './clamp-clamp.js';
import { clipInput, clipOutput } from './clip-linear.js';
import { applyFusion, type Fusion } from './fusion.js';
import { geglu, softcap } from './linear-epilogue.js';
import { linearGroup } from './linear-group.js';
import { gatherLinear, normLinear, residualLinear } from './linear-prologue.js';
import { linearScaleNorm } from './linear-scale-norm.js';
import { applyMerges, type Merge, type MergeRule } from './merge.js';
import { moeCombineLinear, moeGeglu, normMoeLinear, routeMoeLinear } from './moe.js';
import { normPair } from './norm-pair.js';
import { prepareAttention } from './prepare-attention.js';
import { prepareSegmentAttention } from './prepare-segment-attention.js';
import { residualNorm, residualScale } from './residual-norm.js';

/** The fusions in the order in which they are applied: each builds on the results of the previous ones. */
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

/** Nodes that a backend may run as one, after the fusions; a node is in at most one merge, of the first rule that matches it. */
const MERGES: readonly MergeRule[] = [beginStep, linearScaleNorm, normPair, attentionLinear];

/** Names of the switches in `RecordOptions.fusions`. */
export const FUSION_NAMES: readonly string[] = [...new Set([...FUSIONS, ...MERGES].map(({ name }) => name))];

/**
 * Fuses a graph in place and returns the possible merges; `fusions` as in `RecordOptions`.
 *
 * @throws InvalidArgumentError for an unknown switch
 */
export function fuse(graph: Graph, fusions: RecordOptions['fusions']): readonly Merge[] {
  if (fusions === false) return [];
  const without = fusions?.without ?? [];
  const unknown = without.find((name) => !FUSION_NAMES.includes(name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError({
      argument: 'fusions.without',
      expected: `names among ${FUSION_NAMES.join(', ')}`,
      received: unknown,
    });
  }
  const isOn = ({ name }: { name: string }) => !without.includes(name);
  for (const fusion of FUSIONS.filter(isOn)) applyFusion(graph, fusion);
  return applyMerges(graph, MERGES.filter(isOn));
}
