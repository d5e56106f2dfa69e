import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { E2B, UNIFIED_12B } from '../../test/released-configs.js';
import { parseModelConfig } from '../config/model-config.js';
import { audioTokens, audioTowerTokens, unifiedAudioTokens } from './audio-tokens.js';
import { imageTokens } from './image-tokens.js';
import { videoFrameIndices, videoTokens } from './video-tokens.js';

type SizeRow = [number, number, number, number | null, number | null];
const IMAGE_ROWS: SizeRow[] = JSON.parse(readFileSync(fixture('image_sizes.json'), 'utf8'));
const AUDIO_ROWS: [number, number, number, number][] = JSON.parse(
  readFileSync(fixture('audio_counts.json'), 'utf8'),
).rows;

describe('imageTokens', () => {
  it('gives the reference size for every row of the table', () => {
    expect(IMAGE_ROWS.length).toBeGreaterThanOrEqual(200);
    for (const [budget, height, width, targetHeight, targetWidth] of IMAGE_ROWS) {
      if (targetHeight === null || targetWidth === null) {
        expect(() => imageTokens({ width, height }, budget)).toThrow();
        continue;
      }
      const made = imageTokens({ width, height }, budget);
      expect([budget, height, width, made.height, made.width]).toEqual([
        budget,
        height,
        width,
        targetHeight,
        targetWidth,
      ]);
      expect(made.softTokens).toBe((targetHeight / 48) * (targetWidth / 48));
      expect(made.softTokens).toBeLessThanOrEqual(budget);
    }
  });

  // Width, height, then soft tokens for the budgets 70, 140, 280, 560 and 1120.
  it.each([
    [1, 1, [64, 121, 256, 529, 1089]],
    [2, 1, [55, 128, 253, 528, 1081]],
    [300, 1, [70, 140, 280, 409, 579]],
    [10_000, 1, [70, 140, 280, 560, 1120]],
    [1, 10_000, [70, 140, 280, 560, 1120]],
    [1920, 1080, [66, 120, 264, 527, 1100]],
    [4000, 100, [52, 74, 210, 447, 1055]],
  ])('%i x %i', (width, height, expected) => {
    const made = [70, 140, 280, 560, 1120].map((budget) => imageTokens({ width, height }, budget));
    expect(made.map(({ softTokens }) => softTokens)).toEqual(expected);
    for (const { softTokens, promptTokens, patchCount } of made) {
      expect(promptTokens).toBe(softTokens + 2);
      expect(patchCount).toBe(softTokens * 9);
    }
  });

  it.each([
    [{ width: 0, height: 5 }, 280, 'width'],
    [{ width: 5, height: 1.5 }, 280, 'height'],
    [{ width: 2 ** 30, height: 2 ** 30 }, 280, 'size'],
    [{ width: 5, height: 5 }, 300, 'budget'],
    [{ width: 5, height: 5 }, 0, 'budget'],
  ])('refuses %o with %i', (size, budget, argument) => {
    expect(() => imageTokens(size, budget)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }),
    );
  });
});

describe('audioTowerTokens', () => {
  it.each(AUDIO_ROWS)('%i samples', (samples, frames, valid, tokens) => {
    expect(audioTowerTokens(samples)).toEqual({
      frameCount: frames,
      validFrameCount: valid,
      softTokens: tokens,
      promptTokens: tokens + 2,
      droppedSamples: Math.max(0, samples - 480_000),
    });
  });

  it('equals a count of the frames one by one', () => {
    for (let samples = 0; samples < 3000; samples += 7) {
      const padded = 160 + Math.ceil(samples / 128) * 128;
      let frames = 0;
      let valid = 0;
      for (let start = 0; start + 321 <= padded; start += 160) {
        frames++;
        if (start + 320 < 160 + samples) valid++;
      }
      expect(audioTowerTokens(samples)).toMatchObject({ frameCount: frames, validFrameCount: valid });
      expect(audioTowerTokens(samples).softTokens).toBe(Math.ceil(valid / 4));
    }
  });

  it('refuses fractions', () => {
    expect(() => audioTowerTokens(0.5)).toThrow(expect.objectContaining({ argument: 'sampleCount' }));
  });
});

describe('audioTokens', () => {
  it('counts like the model of the config', () => {
    const unified = parseModelConfig(UNIFIED_12B, 'config.json');
    const withTower = parseModelConfig(
      { ...E2B, audio_config: { hidden_size: 1024, num_hidden_layers: 12, num_attention_heads: 8 } },
      'config.json',
    );
    expect(audioTokens(641, unified).softTokens).toBe(2);
    expect(audioTokens(641, withTower).softTokens).toBe(1);
    expect(audioTokens(600_000, unified)).toMatchObject({ softTokens: 938, droppedSamples: 0 });
    expect(() => audioTokens(641, parseModelConfig(E2B, 'config.json'))).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_MODEL' }),
    );
  });

  it('rounds up without a tower', () => {
    expect([0, 1, 640, 641].map((samples) => unifiedAudioTokens(samples).softTokens)).toEqual([0, 1, 1, 2]);
  });
});

describe('videoFrameIndices', () => {
  it('spreads fewer frames evenly, and never more than exist', () => {
    expect(videoFrameIndices(10, 4)).toEqual([0, 2, 5, 7]);
    expect(videoFrameIndices(3, 4)).toEqual([0, 1, 2]);
    expect(() => videoFrameIndices(3, 0)).toThrow(expect.objectContaining({ argument: 'maxFrames' }));
  });
});

describe('videoTokens', () => {
  it('takes 32 evenly spaced frames', () => {
    const made = videoTokens({ width: 1920, height: 1080, frameCount: 100, framesPerSecond: 1 });
    expect(made.frameIndices.slice(0, 4)).toEqual([0, 3, 6, 9]);
    expect(made.frameIndices).toHaveLength(32);
    expect(made.frameIndices.at(-1)).toBe(96);
    expect(made.timestamps.at(-1)).toBe('01:36');
    expect(made.softTokens).toBe(32 * 66);
    expect(made.frameTokens).toBe(32 * 68);
    expect(made.texts.slice(0, 2)).toEqual(['00:00 ', ' 00:03 ']);
  });

  it('takes all frames of a short video, and assumes 24 per second', () => {
    const made = videoTokens({ width: 10, height: 10, frameCount: 30 });
    expect(made.frameIndices).toEqual(Array.from({ length: 30 }, (_, index) => index));
    expect(made.timestamps.at(23)).toBe('00:00');
    expect(made.timestamps.at(24)).toBe('00:01');
  });

  it.each([
    [{ width: 1, height: 1, frameCount: 0 }, 'frameCount'],
    [{ width: 1, height: 1, frameCount: 1, framesPerSecond: 0 }, 'framesPerSecond'],
    [{ width: 0, height: 1, frameCount: 1 }, 'width'],
  ])('refuses %o', (video, argument) => {
    expect(() => videoTokens(video)).toThrow(expect.objectContaining({ argument }));
  });
});
