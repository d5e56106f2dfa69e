import { describe, expect, it } from 'vitest';
import { parseGenerationConfig } from './generation-config.js';

const parse = (json: unknown) => parseGenerationConfig(json, '/generation_config.json', [1]);

describe('parseGenerationConfig', () => {
  it('joins the stop ids of both files', () => {
    expect(parse({ eos_token_id: [1, 106, 50] }).stopTokenIds).toEqual([1, 106, 50]);
    expect(parse({ eos_token_id: 106 }).stopTokenIds).toEqual([106, 1]);
    expect(parse(null)).toEqual({ stopTokenIds: [1], suppressTokenIds: [] });
  });

  it('returns sampling settings and suppressed ids', () => {
    const json = {
      temperature: 1,
      top_k: 64,
      top_p: 0.95,
      do_sample: true,
      suppress_tokens: [258883, 258882],
    };
    expect(parse(json)).toEqual({
      stopTokenIds: [1],
      suppressTokenIds: [258883, 258882],
      temperature: 1,
      topK: 64,
      topP: 0.95,
    });
    expect(parse({ temperature: 1, do_sample: false }).temperature).toBe(0);
  });

  it.each([
    ['temperature', -1],
    ['top_k', 1.5],
    ['top_p', 2],
    ['eos_token_id', 'x'],
    ['suppress_tokens', [null]],
    ['do_sample', 1],
  ])('refuses %s = %j', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(expect.objectContaining({ code: 'INVALID_CONFIG', key }));
  });
});
