import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { createWeightIndex } from '../checkpoint/weight-index.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';
import { writeSafetensors } from '../safetensors/write-safetensors.js';
import { dequantizeFloat } from './float-codec.js';
import { readMatrixRows } from './read-matrix-rows.js';

const root = temporaryFolder();

/** Codes 0 to 15, twice, the first one in the lowest bits. */
const ALL_CODES = Uint32Array.of(0x76543210, 0xfedcba98, 0x76543210, 0xfedcba98);
/** Their values: 1 sign bit, 2 exponent bits with bias 1, 1 fraction bit. */
const MAGNITUDES = [0, 0.5, 1, 1.5, 2, 3, 4, 6];
const VALUES = [...MAGNITUDES, ...MAGNITUDES.map((value) => -value)];

describe('dequantizeFloat', () => {
  it('reads mxfp4: E2M1 elements, scales 2^(s - 127) per 32 elements', () => {
    const weight = Uint32Array.of(...ALL_CODES, ...ALL_CODES);
    const values = dequantizeFloat({ weight, scales: Uint8Array.of(127, 130) }, 1, 64, 'mxfp4');
    const twice = [...VALUES, ...VALUES];
    expect([...values]).toEqual([...twice, ...twice.map((value) => value * 8)]);
    const small = dequantizeFloat({ weight: ALL_CODES, scales: Uint8Array.of(0) }, 1, 32, 'mxfp4');
    expect(small[7]).toBe(6 * 2 ** -127);
    const invalid = dequantizeFloat({ weight: ALL_CODES, scales: Uint8Array.of(255) }, 1, 32, 'mxfp4');
    expect(invalid[1]).toBeNaN();
  });

  it('reads mxfp8: E4M3 elements, the first one in the lowest byte', () => {
    // 0x38 = 1, 0xb8 = -1, 0x01 = 2^-9, 0x7e = 448, 0x40 = 2, 0x3c = 1.5, 0x08 = 2^-6, 0x7f = NaN.
    const weight = new Uint32Array(8);
    weight[0] = 0x7e01b838;
    weight[1] = 0x7f083c40;
    const values = dequantizeFloat({ weight, scales: Uint8Array.of(126) }, 1, 32, 'mxfp8');
    expect([...values.subarray(0, 9)]).toEqual([0.5, -0.5, 2 ** -10, 224, 1, 0.75, 2 ** -7, Number.NaN, 0]);
  });

  it('reads nvfp4: E2M1 elements, E4M3 scales per 16 elements', () => {
    // 0x38 = 1, 0x30 = 0.5, 0x7e = 448, 0xb8 = -1.
    const weight = Uint32Array.of(...ALL_CODES, ...ALL_CODES);
    const scales = Uint8Array.of(0x38, 0x30, 0x7e, 0xb8);
    const values = dequantizeFloat({ weight, scales }, 2, 32, 'nvfp4');
    expect([...values]).toEqual([1, 0.5, 448, -1].flatMap((scale) => VALUES.map((value) => value * scale)));
  });

  it('refuses arrays that do not match', () => {
    const parts = { weight: ALL_CODES, scales: Uint8Array.of(127) };
    expect(() => dequantizeFloat(parts, 1, 33, 'mxfp4')).toThrow(
      expect.objectContaining({ argument: 'columns' }),
    );
    expect(() => dequantizeFloat(parts, 1, 64, 'mxfp4')).toThrow(
      expect.objectContaining({ argument: 'weight' }),
    );
    expect(() => dequantizeFloat(parts, 1, 32, 'nvfp4')).toThrow(
      expect.objectContaining({ argument: 'scales' }),
    );
  });
});

describe('readMatrixRows', () => {
  it('reads only the bytes of the requested rows, in every format', async () => {
    const path = join(root, 'matrices.safetensors');
    const bytesOf = (words: Uint32Array) => new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    const tensor = (name: string, dtype: 'U32' | 'U8' | 'F32', shape: number[], bytes: Uint8Array) => ({
      name,
      dtype,
      shape,
      chunks: () => [bytes],
    });
    const codes = Uint32Array.of(...ALL_CODES, ...ALL_CODES.map((word) => (word ^ 0x88888888) >>> 0));
    const floats = (...values: number[]) => new Uint8Array(Float32Array.of(...values).buffer);
    await writeSafetensors(path, [
      tensor('small.weight', 'U32', [2, 4], bytesOf(codes)),
      tensor('small.scales', 'U8', [2, 1], Uint8Array.of(127, 128)),
      tensor('affine.weight', 'U32', [2, 4], bytesOf(codes)),
      tensor('affine.scales', 'F32', [2, 1], floats(1, 2)),
      tensor('affine.biases', 'F32', [2, 1], floats(0, 100)),
      tensor('plain.weight', 'F32', [2, 2], floats(1, 2, 3, 4)),
    ]);
    const { tensors } = await openSafetensors(path);
    const index = createWeightIndex({
      tensors: tensors.values(),
      quantization: {
        mode: 'affine',
        bits: 4,
        groupSize: 32,
        overrides: new Map([['small', { mode: 'mxfp4', bits: 4, groupSize: 32 }]]),
      },
      tieWordEmbeddings: true,
      configPath: 'config.json',
    });
    const row = (module: string) => readMatrixRows(index.stored(module), 1, 2);
    const flipped = [...VALUES.slice(8), ...VALUES.slice(0, 8)].map((value) => 2 * value);
    expect([...(await row('small'))]).toEqual([...flipped, ...flipped]);
    const half = Array.from({ length: 16 }, (_, code) => 100 + 2 * (code ^ 8));
    expect([...(await row('affine'))]).toEqual([...half, ...half]);
    expect([...(await row('plain'))]).toEqual([3, 4]);
    expect(await readMatrixRows(index.stored('plain'), 1, 1)).toHaveLength(0);
    await expect(readMatrixRows(index.stored('plain'), 1, 3)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});
