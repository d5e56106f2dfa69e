import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';
import { dequantizeAffine, quantizeAffine } from './affine-codec.js';

const { tensors } = await openSafetensors(fixture('quantization.safetensors'));

describe.each([2, 3, 4, 5, 6, 8] as const)('%i bits', (bits) => {
  it.each([32, 64, 128] as const)('with groups of %i equal the reference in every bit', async (groupSize) => {
    const part = (name: string) => tensors.get(`q${bits}g${groupSize}.${name}`)!;
    const [rows, columns] = part('source').shape as [number, number];
    const options = { bits, groupSize, scaleDtype: 'BF16' } as const;
    const weight = new Uint32Array((await part('weight').read()).buffer as ArrayBuffer);
    const scales = await part('scales').read();
    const biases = await part('biases').read();

    const made = quantizeAffine(await part('source').readFloat32(), rows, columns, options);
    expect(made).toEqual({ weight, scales, biases });

    const values = dequantizeAffine({ weight, scales, biases }, rows, columns, options);
    expect(values).toEqual(await part('dequantized').readFloat32());
  });
});
