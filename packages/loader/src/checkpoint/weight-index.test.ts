import type { DType } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import type { QuantizationConfig } from '../config/quantization-config.js';
import { TensorView } from '../safetensors/tensor-view.js';
import { MemorySource } from '../sources/memory-source.js';
import type { StorageWarning } from './stored-matrix.js';
import { createWeightIndex } from './weight-index.js';

const QUANTIZATION: QuantizationConfig = { mode: 'affine', bits: 4, groupSize: 64, overrides: new Map() };

function view(name: string, dtype: DType, ...shape: number[]): TensorView {
  const range = { path: '/file', offsetBytes: 0, sizeBytes: 0 };
  return new TensorView(name, dtype, shape, range, new MemorySource(new Uint8Array(0)));
}

function indexOf(tensors: readonly TensorView[], quantization: QuantizationConfig | null = QUANTIZATION) {
  return createWeightIndex({ tensors, quantization, tieWordEmbeddings: true, configPath: '/config.json' });
}

/** The three arrays of `m`; by default those of a matrix [8, 128] with 4 bits and groups of 64. */
function affine({ weight = [8, 16], scales = [8, 2], biases = [8, 2], dtype = 'BF16' as DType } = {}) {
  return [
    view('m.weight', 'U32', ...weight),
    view('m.scales', dtype, ...scales),
    view('m.biases', 'BF16', ...biases),
  ];
}

const SIZE = { rows: 8, columns: 128 };

describe('names', () => {
  it('are canonical, and recorded when requested', () => {
    const names = ['model.language_model.norm.weight', 'model.vision_tower.std_bias', 'lm_head.weight'];
    const index = indexOf(names.map((name) => view(name, 'BF16', 1)));
    expect(index.names()).toEqual(['language_model.norm.weight', 'vision_tower.std_bias', 'lm_head.weight']);
    expect(index.hasModule('language_model.norm')).toBe(true);
    expect(index.hasModule('vision_tower.std_bias')).toBe(true);
    expect(index.hasModule('language_model')).toBe(false);
    expect(index.unused()).toEqual(['language_model.norm.weight', 'vision_tower.std_bias']);
    expect(index.tensor('language_model.norm.weight').name).toBe(names[0]);
    expect(index.find('nothing')).toBeNull();
    expect(index.unused()).toEqual(['vision_tower.std_bias']);
  });

  it('that are missing are named', () => {
    const missing = expect.objectContaining({ code: 'WEIGHT_MAP', missing: ['a.weight'] });
    expect(() => indexOf([]).tensor('a.weight')).toThrow(missing);
    expect(() => indexOf([]).matrix('a', SIZE)).toThrow(missing);
  });

  it('that mean the same tensor are refused', () => {
    const tensors = ['model.norm.weight', 'language_model.model.norm.weight'].map((name) =>
      view(name, 'BF16', 1),
    );
    expect(() => indexOf(tensors)).toThrow(
      expect.objectContaining({ code: 'CORRUPT_FILE', rule: 'DuplicateKey' }),
    );
  });
});

describe('plain matrices', () => {
  it.each(['BF16', 'F16', 'F32'] as const)('of %s are found with and without ".weight"', (dtype) => {
    const weight = view('m.weight', dtype, 8, 128);
    const plain = { kind: 'plain', dtype, ...SIZE };
    expect(indexOf([weight]).matrix('m', SIZE)).toEqual({ ...plain, weight });
    const bare = view('m', dtype, 2, 4, 128);
    expect(indexOf([bare]).matrix('m', SIZE)).toEqual({ ...plain, weight: bare });
    expect(indexOf([bare]).matrix('m', { experts: 2, rows: 4, columns: 128 })).toEqual({
      ...plain,
      weight: bare,
    });
  });

  it.each([
    ['another shape', view('m.weight', 'BF16', 8, 64), SIZE],
    ['swapped axes', view('m.weight', 'BF16', 128, 8), SIZE],
    ['one axis', view('m.weight', 'BF16', 1024), SIZE],
    ['another type', view('m.weight', 'I32', 8, 128), SIZE],
    ['other experts', view('m.weight', 'BF16', 4, 2, 128), { experts: 2, rows: 4, columns: 128 }],
    ['no experts', view('m.weight', 'BF16', 8, 128), { experts: 2, rows: 4, columns: 128 }],
  ])('of %s are refused', (_, weight, expected) => {
    expect(() => indexOf([weight]).matrix('m', expected)).toThrow(
      expect.objectContaining({ code: 'WEIGHT_MAP', mismatched: [expect.stringContaining('m.weight is ')] }),
    );
  });
});

describe('affine matrices', () => {
  it('are recognised by their scales and follow the config', () => {
    const [weight, scales, biases] = affine();
    expect(indexOf([weight!, scales!, biases!]).matrix('m', SIZE)).toEqual({
      kind: 'affine',
      ...SIZE,
      bits: 4,
      groupSize: 64,
      scaleDtype: 'BF16',
      weight,
      scales,
      biases,
    });
  });

  it('follow an override, and have a leading expert axis', () => {
    const overrides = new Map([['m', { mode: 'affine', bits: 3, groupSize: 32 } as const]]);
    const tensors = affine({ weight: [2, 4, 12], scales: [2, 4, 4], biases: [2, 4, 4] });
    const index = indexOf(tensors, { ...QUANTIZATION, overrides });
    expect(index.matrix('m', { experts: 2, rows: 4, columns: 128 })).toMatchObject({
      rows: 8,
      bits: 3,
      groupSize: 32,
    });
    expect(index.unused()).toEqual([]);
  });

  it.each([
    ['bits', affine({ weight: [8, 32] }), QUANTIZATION, [8, 64], [4, 64]],
    ['group size', affine({ scales: [8, 4], biases: [8, 4] }), QUANTIZATION, [4, 32], [4, 64]],
    ['no quantisation at all', affine(), null, [4, 64], null],
    [
      'a module that is not quantised',
      affine(),
      { ...QUANTIZATION, overrides: new Map([['m', false as const]]) },
      [4, 64],
      null,
    ],
  ])(
    'stored differently from the config, with %s, are read in the only possible way',
    (_, tensors, quantization, taken, said) => {
      const heard: StorageWarning[] = [];
      const index = createWeightIndex({
        tensors,
        quantization,
        tieWordEmbeddings: true,
        configPath: '/config.json',
        onWarning: (warning) => heard.push(warning),
      });
      const [bits, groupSize] = taken;
      expect(index.matrix('m', SIZE)).toMatchObject({ kind: 'affine', bits, groupSize });
      index.matrix('m', SIZE);
      const parameters = (pair: readonly number[]) => ({ mode: 'affine', bits: pair[0], groupSize: pair[1] });
      expect(heard).toEqual([
        {
          module: 'm',
          kind: 'stored-otherwise',
          said: said && parameters(said),
          taken: parameters(taken),
          message: expect.stringContaining('/config.json'),
        },
      ]);
      expect(index.warnings()).toEqual(heard);
    },
  );

  it('with an unknown number of columns are read according to the config, or refused', () => {
    // 16 words and 2 scales: 4 bits for groups of 64, or 2 bits for groups of 128.
    expect(indexOf(affine()).stored('m')).toMatchObject({ bits: 4, columns: 128, rows: 8 });
    const two = { ...QUANTIZATION, bits: 2, groupSize: 128 } as const;
    expect(indexOf(affine(), two).stored('m')).toMatchObject({ bits: 2, columns: 256, rows: 8 });
    const three = { ...QUANTIZATION, bits: 3 } as const;
    expect(() => indexOf(affine(), three).stored('m')).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', key: 'quantization["m"]' }),
    );
    // 3 words and 1 scale: only 3 bits for a group of 32 fit.
    const tensors = affine({ weight: [8, 3], scales: [8, 1], biases: [8, 1] });
    expect(indexOf(tensors).stored('m')).toMatchObject({ bits: 3, groupSize: 32, columns: 32 });
  });

  it.each([
    ['rows', affine({ weight: [4, 16] })],
    ['packing', affine({ weight: [8, 17] })],
    ['scales', affine({ scales: [8, 3] })],
    ['biases', affine({ biases: [8, 1] })],
    ['scale type', affine({ dtype: 'U8' })],
    ['two types of scales and biases', affine({ dtype: 'F32' })],
    ['weight type', [view('m.weight', 'I32', 8, 16), ...affine().slice(1)]],
  ])('with wrong %s are refused', (_, tensors) => {
    expect(() => indexOf(tensors).matrix('m', SIZE)).toThrow(expect.objectContaining({ code: 'WEIGHT_MAP' }));
  });

  it('without biases are refused', () => {
    expect(() => indexOf(affine().slice(0, 2)).matrix('m', SIZE)).toThrow(
      expect.objectContaining({ missing: ['m.biases'] }),
    );
  });
});

describe('matrices of small floats', () => {
  const floats = (words: number, groups: number) => [
    view('m.weight', 'U32', 8, words),
    view('m.scales', 'U8', 8, groups),
  ];
  const of = (mode: 'mxfp4' | 'mxfp8' | 'nvfp4', bits: number, groupSize: number) =>
    ({ mode, bits, groupSize, overrides: new Map() }) as const;

  it.each([
    ['mxfp4', floats(16, 4), of('mxfp4', 4, 32)],
    ['mxfp8', floats(32, 4), of('mxfp8', 8, 32)],
    ['nvfp4', floats(16, 8), of('nvfp4', 4, 16)],
  ] as const)('in %s are recognised', (mode, [weight, scales], quantization) => {
    const index = indexOf([weight!, scales!], quantization);
    const { bits, groupSize } = quantization;
    const expected = { kind: mode, ...SIZE, bits, groupSize, weight, scales };
    expect(index.stored('m', SIZE)).toEqual(expected);
    expect(index.stored('m')).toEqual(expected);
    expect(index.warnings()).toEqual([]);
    expect(index.matrix('m', SIZE)).toEqual(expected);
  });

  it('are refused with a global scale, or with columns that the engine does not take', () => {
    const index = indexOf([...floats(16, 8), view('m.global_scale', 'F32', 1)], of('nvfp4', 4, 16));
    const refused = (text: string) =>
      expect.objectContaining({ code: 'UNSUPPORTED_MODEL', message: expect.stringContaining(text) });
    expect(() => index.stored('m', SIZE)).toThrow(refused('m.global_scale'));
    const narrow = indexOf(floats(6, 3), of('nvfp4', 4, 16));
    expect(narrow.stored('m', { rows: 8, columns: 48 })).toMatchObject({ kind: 'nvfp4' });
    expect(() => narrow.matrix('m', { rows: 8, columns: 48 })).toThrow(refused('markbase quantize'));
  });

  it.each([
    ['another group size', floats(16, 4), of('mxfp4', 4, 64), 'mxfp4'],
    ['another format', floats(16, 8), of('mxfp4', 4, 32), 'nvfp4'],
    ['affine', floats(32, 4), QUANTIZATION, 'mxfp8'],
  ] as const)(
    'that the config calls %s are read in the only possible way',
    (_, tensors, quantization, kind) => {
      const index = indexOf(tensors, quantization);
      expect(index.stored('m', SIZE)).toMatchObject({ kind });
      expect(index.warnings()).toHaveLength(1);
    },
  );

  it.each([
    ['words', floats(15, 4)],
    ['scales', floats(16, 5)],
    ['rows', [view('m.weight', 'U32', 8, 16), view('m.scales', 'U8', 4, 4)]],
  ])('with wrong %s are refused', (_, tensors) => {
    expect(() => indexOf(tensors, of('mxfp4', 4, 32)).stored('m', SIZE)).toThrow(
      expect.objectContaining({ code: 'WEIGHT_MAP', mismatched: [expect.stringContaining('expected')] }),
    );
  });
});

describe('the per-layer embedding', () => {
  it.each([
    [4, 1],
    [8, 0],
  ] as const)('with %i bits gives %i warnings', (bits, count) => {
    const module = 'language_model.embed_tokens_per_layer';
    const tensors = [
      view(`${module}.weight`, 'U32', 8, 4 * bits),
      view(`${module}.scales`, 'BF16', 8, 2),
      view(`${module}.biases`, 'BF16', 8, 2),
    ];
    const index = indexOf(tensors, { ...QUANTIZATION, bits });
    index.matrix(module, SIZE);
    expect(index.warnings().map(({ kind }) => kind)).toEqual(Array.from({ length: count }, () => 'low-bits'));
  });
});
