import { InvalidArgumentError } from '@markbase/core';
import type { SoftTokens } from '@markbase/metal-runtime';
import { describe, expect, it } from 'vitest';
import type { DecoderConfig } from '../model/config.js';
import { promptRows } from './prompt.js';

const IMAGE = 90;
const AUDIO = 91;
const VIDEO = 92;
const CONFIG: DecoderConfig = {
  modelType: 'gemma4',
  hiddenWidth: 2,
  headCount: 1,
  vocabularySize: 100,
  normEps: 1e-6,
  windowTokens: 4,
  logitCap: 30,
  perLayer: null,
  layers: [],
  lastCachingLayer: 0,
  isBidirectionalInImages: true,
  maxPositions: 64,
  hasExperts: false,
  hasTiedHead: true,
  padTokenId: 0,
  placeholders: { image: IMAGE, audio: AUDIO, video: VIDEO, delimiters: [] },
};
const LIMITS = { maxStepTokens: 4 };

function soft(kind: SoftTokens['kind'], rows: number, contentKey = 'a'): SoftTokens {
  return { kind, rows, width: 2, values: Float32Array.from({ length: rows * 2 }, (_, i) => i), contentKey };
}

describe('promptRows', () => {
  it('lays out plain tokens causally', () => {
    const rows = promptRows(CONFIG, { ids: [5, 6, 7] }, LIMITS, 10);
    expect(rows).toMatchObject({ begin: 10, end: 13, keys: [5, 6, 7], soft: [null, null, null] });
    expect([...rows.visibleEnd]).toEqual([10, 11, 12]);
    expect([...rows.layerTokens]).toEqual([5, 6, 7]);
  });

  it('lets the rows of an image see each other, but not those of audio', () => {
    const prompt = {
      ids: [5, IMAGE, IMAGE, IMAGE, 6, AUDIO, AUDIO],
      media: [
        { begin: 5, softTokens: soft('audio', 2) },
        { begin: 1, softTokens: soft('image', 3) },
      ],
    };
    const rows = promptRows(CONFIG, prompt, LIMITS);
    expect([...rows.visibleEnd]).toEqual([0, 3, 3, 3, 4, 5, 6]);
    expect([...rows.layerTokens]).toEqual([5, 0, 0, 0, 6, 0, 0]);
    expect(rows.keys.slice(1, 3)).toEqual(['image:a:0', 'image:a:1']);
    expect(rows.soft[2]).toEqual(Float32Array.of(2, 3));
  });

  it('joins adjacent images, as the reference does', () => {
    const media = [
      { begin: 1, softTokens: soft('image', 2, 'a') },
      { begin: 3, softTokens: soft('video', 2, 'b') },
    ];
    const rows = promptRows(CONFIG, { ids: [5, IMAGE, IMAGE, VIDEO, VIDEO], media }, LIMITS);
    expect([...rows.visibleEnd]).toEqual([0, 4, 4, 4, 4]);
  });

  it('keeps images causal if the configuration says so', () => {
    const config = { ...CONFIG, isBidirectionalInImages: false };
    const media = [{ begin: 0, softTokens: soft('image', 2) }];
    const rows = promptRows(config, { ids: [IMAGE, IMAGE], media }, LIMITS);
    expect([...rows.visibleEnd]).toEqual([0, 1]);
  });

  it.each([
    ['an empty prompt', { ids: [] }],
    ['an id outside the vocabulary', { ids: [5, 100] }],
    ['a negative id', { ids: [-1] }],
    ['a fraction', { ids: [1.5] }],
    ['a placeholder without soft tokens', { ids: [IMAGE] }],
    [
      'soft tokens without placeholders',
      { ids: [5, 6], media: [{ begin: 0, softTokens: soft('image', 1) }] },
    ],
    ['the wrong kind', { ids: [AUDIO], media: [{ begin: 0, softTokens: soft('image', 1) }] }],
    ['a span beyond the end', { ids: [IMAGE], media: [{ begin: 0, softTokens: soft('image', 2) }] }],
    [
      'the wrong width',
      { ids: [IMAGE], media: [{ begin: 0, softTokens: { ...soft('image', 1), width: 3 } }] },
    ],
    [
      'an image that does not fit in a step',
      { ids: new Array(5).fill(IMAGE), media: [{ begin: 0, softTokens: soft('image', 5) }] },
    ],
  ])('refuses %s', (_, prompt) => {
    expect(() => promptRows(CONFIG, prompt, LIMITS)).toThrow(InvalidArgumentError);
  });
});
