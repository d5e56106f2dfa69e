import { describe, expect, it } from 'vitest';
import { compileRules, DEFAULT_QUANTIZE_RULES, type QuantizeRule } from './quantize-rules.js';

const GENERAL = { mode: 'affine', bits: 4, groupSize: 64 } as const;
const matches = (match: string, module: string) =>
  compileRules([{ match, bits: 8 }], GENERAL)(module)?.bits === 8;

describe('patterns', () => {
  it.each([
    ['**.router.proj', 'language_model.layers.0.router.proj'],
    ['**.mlp.*', 'language_model.layers.11.mlp.down_proj'],
    ['language_model.layers.*.mlp.*', 'language_model.layers.11.mlp.down_proj'],
    ['language_model.model.layers.*.mlp.*', 'language_model.layers.11.mlp.down_proj'],
    ['model.language_model.layers.*.mlp.*', 'language_model.layers.11.mlp.down_proj'],
    ['vision_tower.**', 'vision_tower.patch_embedder.input_proj'],
    ['**.*_proj.linear', 'vision_tower.encoder.layers.0.mlp.up_proj.linear'],
    ['**.layers.**.linear', 'audio_tower.layers.0.self_attn.post.linear'],
    ['**', 'lm_head'],
  ])('%s matches %s', (pattern, module) => {
    expect(matches(pattern, module)).toBe(true);
  });

  it.each([
    ['*.proj', 'language_model.layers.0.router.proj'],
    ['**.proj', 'language_model.layers.0.self_attn.q_proj'],
    ['language_model.layers.1.**', 'language_model.layers.11.mlp.down_proj'],
    ['vision_tower.**', 'vision_tower_2.a'],
    ['**.a.*.c', 'x.a.b.b.c'],
    ['layers', 'language_model.layers.0'],
  ])('%s does not match %s', (pattern, module) => {
    expect(matches(pattern, module)).toBe(false);
  });

  it('stay fast on hostile input', () => {
    const pattern = `${'**.a*a*a*a*.'.repeat(6)}b`;
    expect(matches(pattern, `${'aaaaaaaa.'.repeat(12)}c`)).toBe(false);
  });
});

describe('compileRules', () => {
  it('applies the first match and fills in the general setting', () => {
    const rules: QuantizeRule[] = [
      { match: '**.a', skip: true },
      { match: '**.b', groupSize: 32 },
      { match: '**.b', bits: 2 },
    ];
    const table = compileRules(rules, GENERAL);
    expect(table('x.a')).toBeNull();
    expect(table('x.b')).toEqual({ mode: 'affine', bits: 4, groupSize: 32 });
    expect(table('x.c')).toEqual(GENERAL);
  });

  it('keeps routers and the per-layer embedding at 8 bits by default', () => {
    const table = compileRules(DEFAULT_QUANTIZE_RULES, GENERAL);
    expect(table('language_model.layers.3.router.proj')).toEqual({ mode: 'affine', bits: 8, groupSize: 64 });
    expect(table('language_model.embed_tokens_per_layer')).toEqual({
      mode: 'affine',
      bits: 8,
      groupSize: 64,
    });
    expect(table('language_model.embed_tokens')).toEqual(GENERAL);
    expect(table('audio_tower.layers.0.lconv1d.linear_start.linear')).toBeNull();
  });

  it.each([{ bits: 7 }, { groupSize: 16 }])('refuses %j', (wrong) => {
    const expected = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
    expect(() => compileRules([{ match: '**', ...wrong }], GENERAL)).toThrow(expected);
    expect(() => compileRules([], { ...GENERAL, ...wrong })).toThrow(expected);
  });

  it('takes bits and groups as affine, beside a general format of small floats', () => {
    const rules: QuantizeRule[] = [
      { match: '**.a', bits: 8 },
      { match: '**.b', mode: 'mxfp8' },
    ];
    const table = compileRules([...rules, { match: '**.d' }], { mode: 'nvfp4' });
    const nvfp4 = { mode: 'nvfp4', bits: 4, groupSize: 16 };
    expect(table('x.a')).toEqual({ mode: 'affine', bits: 8, groupSize: 64 });
    expect(table('x.b')).toEqual({ mode: 'mxfp8', bits: 8, groupSize: 32 });
    expect(table('x.c')).toEqual(nvfp4);
    expect(table('x.d')).toEqual(nvfp4);
    expect(() => compileRules([], { mode: 'mxfp4', groupSize: 64 })).toThrow('mxfp4 fixes');
  });
});
