import { describe, expect, it } from 'vitest';
import { expertLayout } from './layout.js';

const AT = 'language_model.layers.0';
const layoutOf = (...names: string[]) =>
  expertLayout({ names: () => [`${AT}.mlp.gate_proj.weight`, ...names] });

const FUSED = [`${AT}.experts.gate_up_proj`, `${AT}.experts.down_proj`];
const SPLIT = ['gate_proj', 'up_proj', 'down_proj'].flatMap((module) =>
  ['weight', 'scales', 'biases'].map((part) => `${AT}.experts.switch_glu.${module}.${part}`),
);

describe('expertLayout', () => {
  it('recognises fused and split experts', () => {
    expect(layoutOf(...FUSED)).toBe('fused');
    expect(layoutOf(...SPLIT)).toBe('split');
  });

  it('refuses both in one checkpoint, and names one of each', () => {
    expect(() => layoutOf(...FUSED, ...SPLIT)).toThrow(
      expect.objectContaining({
        code: 'WEIGHT_MAP',
        mismatched: [expect.stringMatching(/experts\.gate_up_proj.*switch_glu\.gate_proj\.weight/)],
      }),
    );
  });

  it('refuses unknown names', () => {
    const unknown = `${AT}.experts.0.w1.weight`;
    expect(() => layoutOf(...SPLIT, unknown)).toThrow(
      expect.objectContaining({ code: 'WEIGHT_MAP', unused: [unknown] }),
    );
    expect(() => layoutOf(`${AT}.block_sparse_moe.experts.0.w1.weight`)).toThrow(/block_sparse_moe/);
  });

  it('reports what it looked for if there are no experts', () => {
    expect(() => layoutOf()).toThrow(/gate_up_proj.*switch_glu/);
  });
});
