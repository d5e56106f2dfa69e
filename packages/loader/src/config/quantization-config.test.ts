import { describe, expect, it } from 'vitest';
import { ConfigReader } from './config-reader.js';
import { parametersOf, parseQuantization } from './quantization-config.js';

const parse = (json: object) =>
  parseQuantization(new ConfigReader({ model_type: 'gemma4', ...json }, '/config.json'));

describe('parseQuantization', () => {
  it('is null without one', () => {
    expect(parse({})).toBeNull();
    expect(parse({ quantization: null })).toBeNull();
  });

  it('accepts overrides with and without the prefix, without a mode, and false', () => {
    const quantization = parse({
      quantization_config: {
        group_size: 32,
        bits: 4,
        'language_model.model.layers.0.router.proj': { bits: 8, group_size: 64 },
        'model.layers.1.mlp.up_proj': { mode: 'affine', bits: 3 },
        'vision_tower.patch_embedder.input_proj': false,
        embed_tokens: true,
      },
    })!;
    expect(parametersOf(quantization, 'language_model.layers.0.router.proj')).toEqual({
      mode: 'affine',
      bits: 8,
      groupSize: 64,
    });
    // A missing group size means the default of the mode, not the general one.
    expect(parametersOf(quantization, 'language_model.layers.1.mlp.up_proj')).toEqual({
      mode: 'affine',
      bits: 3,
      groupSize: 64,
    });
    expect(parametersOf(quantization, 'vision_tower.patch_embedder.input_proj')).toBeNull();
    expect(parametersOf(quantization, 'embed_tokens')).toEqual({ mode: 'affine', bits: 4, groupSize: 32 });
  });

  it('accepts small-float formats, with their own widths by default', () => {
    const quantization = parse({
      quantization: { mode: 'mxfp4', a: { mode: 'nvfp4' }, b: { mode: 'mxfp8', group_size: 64 } },
    })!;
    expect(parametersOf(quantization, 'm')).toEqual({ mode: 'mxfp4', bits: 4, groupSize: 32 });
    expect(parametersOf(quantization, 'a')).toEqual({ mode: 'nvfp4', bits: 4, groupSize: 16 });
    expect(parametersOf(quantization, 'b')).toEqual({ mode: 'mxfp8', bits: 8, groupSize: 64 });
  });

  it.each([
    ['gptq', 'GPTQ'],
    ['awq', 'AWQ'],
    ['compressed-tensors', 'compressed-tensors'],
    ['bitsandbytes', 'bitsandbytes'],
    ['gemma', 'the mobile layout of Gemma'],
    ['something new', '"something new"'],
    ['constructor', '"constructor"'],
  ])('names the layout of quant_method %s', (method, layout) => {
    expect(() => parse({ quantization_config: { quant_method: method } })).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED_MODEL',
        reason: expect.stringContaining(`stored as ${layout};`),
      }),
    );
  });

  it.each([{ mode: 'sym8' }, { 'model.norm': { mode: 'fp4' } }])('refuses the mode %j', (quantization) => {
    expect(() => parse({ quantization })).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_MODEL', modelType: 'gemma4' }),
    );
  });

  it.each([
    ['bits', 7],
    ['group_size', 16],
    ['mode', 4],
  ])('refuses %s = %j', (key, value) => {
    const expected = (path: string) => expect.objectContaining({ code: 'INVALID_CONFIG', key: path });
    expect(() => parse({ quantization: { [key]: value } })).toThrow(expected(`quantization.${key}`));
    expect(() => parse({ quantization: { m: { [key]: value } } })).toThrow(expected(`quantization.m.${key}`));
  });
});
