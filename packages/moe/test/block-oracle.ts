import { type Checkpoint, readMatrixRows } from '@markbase/loader';
import type { MixtureConfig } from '../src/index.js';

/** The output of a block, and the experts of every row. */
export interface BlockOracle {
  readonly y: Float64Array;
  readonly experts: number[][];
}

/**
 * norm₁(h) + norm₂(Σ_x share_x · expert_x(norm(h))) in float64, written from the formulas (docs/gemma4.md sections 2.4 and
 * 2.9), with the stream itself instead of the dense branch.
 */
export async function blockOracle(
  checkpoint: Checkpoint,
  config: MixtureConfig,
  layerIndex: number,
  h: Float32Array,
): Promise<BlockOracle> {
  const { hiddenWidth: width, expertCount, topK, expertWidth, normEps } = config;
  const path = `language_model.layers.${layerIndex}`;
  const vector = (name: string) => checkpoint.weights.tensor(`${path}.${name}`).readFloat32();
  const [denseNorm, expertsNorm, mixtureNorm] = await Promise.all(
    ['post_feedforward_layernorm_1', 'pre_feedforward_layernorm_2', 'post_feedforward_layernorm_2'].map(
      (name) => vector(`${name}.weight`),
    ),
  );
  const router = await matrix(checkpoint, `${path}.router.proj`, expertCount, width);
  const [gain, perExpertScale] = [await vector('router.scale'), await vector('router.per_expert_scale')];
  const { gate, up, down } = await expertMatrices(checkpoint, `${path}.experts`, config);

  const experts: number[][] = [];
  const y = new Float64Array(h.length);
  for (let row = 0; row < h.length / width; row++) {
    const r = Float64Array.from(h.subarray(row * width, (row + 1) * width));
    const x = norm(r, gain, normEps).map((value) => value / Math.sqrt(width));
    const logits = product(router, 0, expertCount, x);
    const powers = logits.map((logit) => Math.exp(logit - Math.max(...logits)));
    const chosen = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!).slice(0, topK);
    const total = chosen.reduce((sum, expert) => sum + powers[expert]!, 0);
    experts.push(chosen);
    const x2 = norm(r, expertsNorm!, normEps);
    const mixed = new Float64Array(width);
    for (const expert of chosen) {
      const gated = product(gate, expert * expertWidth, expertWidth, x2).map(geluTanh);
      const other = product(up, expert * expertWidth, expertWidth, x2);
      const share = (powers[expert]! / total) * perExpertScale[expert]!;
      const out = product(
        down,
        expert * width,
        width,
        gated.map((value, i) => value * other[i]!),
      );
      for (const [i, value] of out.entries()) mixed[i]! += share * value;
    }
    const m2 = norm(mixed, mixtureNorm!, normEps);
    y.set(
      norm(r, denseNorm!, normEps).map((value, i) => value + m2[i]!),
      row * width,
    );
  }
  return { y, experts };
}

/** [rows, columns] of a module, dequantised. */
async function matrix(
  { weights }: Checkpoint,
  module: string,
  rows: number,
  columns: number,
): Promise<Float32Array[]> {
  const stored = weights.matrix(module, { rows, columns });
  const all = await readMatrixRows(stored, 0, rows);
  return Array.from({ length: rows }, (_, row) => all.subarray(row * columns, (row + 1) * columns));
}

/** Rows of gate, up and down of all experts, expert by expert, from either layout. */
async function expertMatrices(checkpoint: Checkpoint, path: string, config: MixtureConfig) {
  const { hiddenWidth: width, expertCount: count, expertWidth } = config;
  if (checkpoint.weights.hasModule(`${path}.switch_glu.gate_proj`)) {
    return {
      gate: await matrix(checkpoint, `${path}.switch_glu.gate_proj`, count * expertWidth, width),
      up: await matrix(checkpoint, `${path}.switch_glu.up_proj`, count * expertWidth, width),
      down: await matrix(checkpoint, `${path}.switch_glu.down_proj`, count * width, expertWidth),
    };
  }
  const fused = await matrix(checkpoint, `${path}.gate_up_proj`, count * 2 * expertWidth, width);
  const isGate = (row: number) => row % (2 * expertWidth) < expertWidth;
  return {
    gate: fused.filter((_, row) => isGate(row)),
    up: fused.filter((_, row) => !isGate(row)),
    down: await matrix(checkpoint, `${path}.down_proj`, count * width, expertWidth),
  };
}

function product(rows: readonly Float32Array[], begin: number, count: number, x: Float64Array): Float64Array {
  return Float64Array.from({ length: count }, (_, n) =>
    rows[begin + n]!.reduce((sum, weight, k) => sum + weight * x[k]!, 0),
  );
}

function norm(x: Float64Array, gain: Float32Array, eps: number): Float64Array {
  const factor = (x.reduce((sum, value) => sum + value * value, 0) / x.length + eps) ** -0.5;
  return x.map((value, i) => value * factor * gain[i]!);
}

function geluTanh(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}
