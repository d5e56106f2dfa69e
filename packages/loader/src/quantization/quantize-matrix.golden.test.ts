import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { dequantizeAffine, quantizeAffine } from './affine-codec.js';
import { quantizeMatrix } from './quantize-matrix.js';

const MODULE = 'audio_tower.layers.0.feed_forward1.ffw_layer_1.linear';

async function plainMatrix() {
  const { weights } = await openCheckpoint(fixture('e2b-mlx-4bit'));
  const matrix = weights.matrix(MODULE, { rows: 256, columns: 64 });
  if (matrix.kind !== 'plain') return expect.unreachable();
  return matrix;
}

describe('quantizeMatrix', () => {
  it.each([4, 8] as const)('gives the arrays of the codec at %i bits', async (bits) => {
    const matrix = await plainMatrix();
    const made = await quantizeMatrix(matrix, { bits, groupSize: 32 });
    const values = await matrix.weight.readFloat32();
    const options = { bits, groupSize: 32, scaleDtype: 'F32' } as const;
    const expected = quantizeAffine(values, 256, 64, options);
    expect(made.weight).toEqual(new Uint8Array(expected.weight.buffer));
    expect([made.scales, made.biases]).toEqual([expected.scales, expected.biases]);
    const restored = dequantizeAffine(expected, 256, 64, options);
    const worst = Math.max(...restored.map((value, i) => Math.abs(value - values[i]!)));
    expect(worst).toBeLessThan(0.1);
  });

  it('refuses columns that the group does not divide, and stops when aborted', async () => {
    const matrix = await plainMatrix();
    await expect(quantizeMatrix(matrix, { bits: 8, groupSize: 128 })).rejects.toThrow(
      'multiple of the group size 128',
    );
    const signal = AbortSignal.abort(new RangeError('enough'));
    await expect(quantizeMatrix(matrix, { bits: 8, groupSize: 64, signal })).rejects.toThrow('enough');
  });
});
