import type { DType } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import type { QuantizationConfig } from '../config/quantization-config.js';
import { TensorView } from '../safetensors/tensor-view.js';
import { createWeightIndex } from './weight-index.js';

const QUANTIZATION: QuantizationConfig = { mode: 'affine', bits: 4, groupSize: 64, overrides: new Map() };

function view(name: string, dtype: DType, ...shape: number[]): TensorView {
  const range = { path: '/file', offsetBytes: 0, sizeBytes: 0 };
  return new TensorView(name, dtype, shape, range, { sizeBytes: 0, modifiedMs: 0, inode: 0 });
}

function indexOf(tensors: readonly TensorView[], quantization: QuantizationConfig | null = QUANTIZATION) {
  return createWeightIndex({ tensors, quantization, tieWordEmbeddings: true, configPath: '/config.json' });
}

/** The three arrays of `m`, as a matrix [8, 128] with 4 bits and groups of 64 has them unless told otherwise. */
function affine({ weight = [8, 16], scales = [8, 2], biases = [8, 2], dtype = 'BF16' as DType } = {}) {
  return [
    view('m.weight', 'U32', ...weight),
    view('m.scales', dtype, ...scales),
    view('m.biases', 'BF16', ...biases),
  ];
}

const SIZE = { rows: 8, columns: 128 };

describe('names', () => {
  it('are canonical, and remembered when asked for', () => {
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
  it('are told by their scales and obey the config', () => {
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

  it('obey an override, and have a leading expert axis', () => {
    const overrides = new Map([['m', { bits: 3, groupSize: 32 } as const]]);
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
    ['bits', affine({ weight: [8, 32] }), QUANTIZATION, '4'],
    ['group_size', affine({ scales: [8, 4], biases: [8, 4] }), QUANTIZATION, '64'],
    ['quantization', affine(), null, 'null'],
    ['quantization', affine(), { ...QUANTIZATION, overrides: new Map([['m', false as const]]) }, 'false'],
  ])('stored otherwise than the config says, in %s, are refused', (key, tensors, quantization, received) => {
    expect(() => indexOf(tensors, quantization).matrix('m', SIZE)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', key: `quantization["m"].${key}`, received }),
    );
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
