import type { Device, Matrix, RelativeKeys, WeightMapper } from '@markbase/metal-runtime';

/** Ratio of the slowest to the fastest period of the position vectors. */
const TIMESCALE = 10_000;

/**
 * Position vectors [distances, width] of the distances 0, 1, 2 …: sines, then cosines, of d · τ_i with
 * τ_i = exp(-i · ln(10000) / (width / 2 - 1)).
 */
function positionVectors(distances: number, width: number): Float32Array {
  const half = width / 2;
  const rates = Float64Array.from({ length: half }, (_, i) =>
    Math.exp((-i * Math.log(TIMESCALE)) / Math.max(half - 1, 1)),
  );
  return Float32Array.from({ length: distances * width }, (_, at) => {
    const [distance, i] = [Math.floor(at / width), at % width];
    return i < half ? Math.sin(distance * rates[i]!) : Math.cos(distance * rates[i - half]!);
  });
}

/**
 * Keys of the relative positions, one set a layer: `relative_k_proj(positionVectors)`. They depend only on the weights, so
 * they are computed once, when a model is loaded.
 */
export async function relativeKeys(
  device: Device,
  mapper: WeightMapper,
  projections: readonly Matrix<'HK', 'D'>[],
  distances: number,
): Promise<RelativeKeys[]> {
  const [first] = projections;
  if (!first) return [];
  const options = { label: 'relative keys', maxRows: distances, maxOutputs: 0, precision: 'high' } as const;
  using program = device.record(options, (ops) => {
    const positions = ops.input('positions', 'T', { axis: 'D', size: first.columns });
    for (const [layer, weight] of projections.entries())
      ops.output(`${layer}`, ops.linear(positions, weight));
  });
  const names = projections.map((_, layer) => `${layer}`);
  const inputs = { positions: positionVectors(distances, first.columns) };
  const { outputs } = await program.run({ rows: distances, inputs }, { read: names });
  return projections.map(({ rows }, layer) => ({
    distances,
    width: rows,
    data: mapper.uploadFloats(outputs[layer]!, 'relative keys'),
  }));
}
