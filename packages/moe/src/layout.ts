import { WeightMapError } from '@markbase/core';
import type { WeightIndex } from '@markbase/loader';

/** How the experts of a checkpoint are named: gate and up fused (Hugging Face), or three modules (MLX). */
export type ExpertLayout = 'fused' | 'split';

const EXPERTS = /\.(?:experts|switch_glu|switch_mlp|block_sparse_moe)\./;
const FUSED = /\.experts\.(?:gate_up_proj|down_proj)(?:\.(?:weight|scales|biases))?$/;
const SPLIT = /\.experts\.switch_glu\.(?:gate_proj|up_proj|down_proj)\.(?:weight|scales|biases)$/;

/**
 * Finds out how the experts of a checkpoint are named.
 *
 * @throws WeightMapError when there are none, when a name belongs to neither layout, and when both occur
 */
export function expertLayout(weights: Pick<WeightIndex, 'names'>): ExpertLayout {
  const names = weights.names().filter((name) => EXPERTS.test(name));
  const fused = names.filter((name) => FUSED.test(name));
  const split = names.filter((name) => SPLIT.test(name));
  const unknown = names.filter((name) => !FUSED.test(name) && !SPLIT.test(name));
  if (unknown.length > 0) throw new WeightMapError({ unused: unknown });
  if (fused.length > 0 && split.length > 0) {
    const mismatched = [`${fused[0]} is in the Hugging Face layout, but ${split[0]} in the MLX layout`];
    throw new WeightMapError({ mismatched });
  }
  if (names.length === 0) {
    throw new WeightMapError({
      missing: [
        'layers.*.experts.gate_up_proj (Hugging Face)',
        'layers.*.experts.switch_glu.gate_proj (MLX)',
      ],
    });
  }
  return fused.length > 0 ? 'fused' : 'split';
}
