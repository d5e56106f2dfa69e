import type { Ops, Value } from '@markbase/metal-runtime';
import { encoderLayer } from './encoder-layer.js';
import type { Projector, Tower, UnifiedEmbedder } from './layer.js';

/** Input [T, M]: values of the patches. */
export const PIXELS_INPUT = 'pixels';
/** Input [T, K]: angles of the patches, as `AxialRope` writes them; of towers only. */
export const ROPE_INPUT = 'rope';

/** eps of the layer norms of the unified embedder (docs/gemma4.md section 4.1). */
const LAYER_NORM_EPS = 1e-5;

/** Output [N, U]: rows after pooling and standardisation; of towers only. */
export const TOWER_OUTPUT = 'tower';
/** Output [N, D]: what the text model takes. */
export const SOFT_OUTPUT = 'soft';

/**
 * Records a tower: patches [T, M] of whole pictures, those of one soft token side by side → soft tokens [N, D].
 *
 * A step has the x of every patch as its token and the row of its y in the table of positions as its layer token; its
 * output rows are the first patches of the soft tokens (docs/gemma4.md sections 3.2 to 3.4).
 */
export function recordTower(ops: Ops, tower: Tower): void {
  const { width, headWidth, patchWidth, pooledPatches, standard } = tower;
  const pixels = ops.input(PIXELS_INPUT, 'T', { axis: 'M', size: patchWidth });
  const rope = ops.input(ROPE_INPUT, 'T', { axis: 'K', size: headWidth });

  let h = ops.scope('patches', () =>
    withPositions(ops, ops.linear(pixels, tower.inputProjection), tower.positions),
  );
  for (const [index, layer] of tower.layers.entries()) {
    h = ops.scope(`layer ${index}`, () => encoderLayer(ops, layer, h, rope));
  }

  // The mean of a block of patches, times the square root of the width, in one factor
  const pooled = ops.poolRows(h, { count: pooledPatches, scale: Math.sqrt(width) / pooledPatches });
  const rows = standard ? ops.standardise(pooled, standard.bias, standard.scale) : pooled;
  ops.output(TOWER_OUTPUT, rows);
  ops.output(SOFT_OUTPUT, project(ops, rows, tower.projector));
}

/**
 * Records the embedder of 12B: patches [T, M] → soft tokens, one for every patch; positions as in `recordTower`
 * (docs/gemma4.md section 4.1).
 */
export function recordUnified(ops: Ops, unified: UnifiedEmbedder): void {
  const pixels = ops.input(PIXELS_INPUT, 'T', { axis: 'M', size: unified.patchWidth });
  const { patchNorm, denseNorm, positionNorm } = unified;
  const eps = LAYER_NORM_EPS;
  const x = ops.layerNorm(pixels, patchNorm.gain, { eps, bias: patchNorm.bias });
  const dense = ops.addBias(ops.linear(x, unified.dense), unified.denseBias);
  const h = ops.layerNorm(dense, denseNorm.gain, { eps, bias: denseNorm.bias });
  const placed = withPositions(ops, h, unified.positions);
  const rows = ops.layerNorm(placed, positionNorm.gain, { eps, bias: positionNorm.bias });
  ops.output(SOFT_OUTPUT, project(ops, ops.gatherRows(rows), unified.projector));
}

/** e + T[x] + T[y]: the rows of both tables that a step names as tokens and layer tokens. */
function withPositions(ops: Ops, e: Value<'T', 'U'>, table: Tower['positions']): Value<'T', 'U'> {
  const x = ops.embed(table, { scale: 1, ids: 'token' });
  const y = ops.embed(table, { scale: 1, ids: 'layerToken' });
  return ops.add(ops.add(e, x), y);
}

function project(ops: Ops, rows: Value<'N', 'U'>, { normEps, projection }: Projector): Value<'N', 'D'> {
  return ops.linear(ops.rmsNorm(rows, null, { eps: normEps }), projection);
}
