import { expect, it } from 'vitest';
import type { Attachment } from './attachment.js';
import { tokenCount } from './token-count.js';

const MEDIA = {
  image: { patchSize: 16, poolingKernelSize: 3, defaultBudget: 280 },
  audio: { samplesPerToken: null },
};
const picture = (budget: number): Attachment => ({
  kind: 'image',
  id: 'i',
  name: 'i',
  url: '',
  width: 1920,
  height: 1080,
  budget,
});
const sound: Attachment = { kind: 'audio', id: 's', name: 's', wav: '', sampleCount: 16_000, peaks: [] };
const frames = [0, 1].map((timestampSeconds) => ({ url: '', timestampSeconds }));
const video: Attachment = { kind: 'video', id: 'v', name: 'v', width: 480, height: 480, seconds: 2, frames };

it('counts the same as the loader, including delimiters', () => {
  expect(tokenCount(picture(70), MEDIA)).toBe(11 * 6 + 2);
  expect(tokenCount(picture(280), MEDIA)).toBe(22 * 12 + 2);
  expect(tokenCount(picture(1120), MEDIA)).toBe(44 * 25 + 2);
  expect(tokenCount(video, MEDIA)).toBe(2 * (8 * 8 + 2));
  expect(tokenCount(sound, MEDIA)).toBe(27);
  expect(tokenCount(sound, { ...MEDIA, audio: { samplesPerToken: 640 } })).toBe(27);
});

it('returns null for media that a model does not support', () => {
  expect(tokenCount(picture(70), { image: null, audio: null })).toBeNull();
  expect(tokenCount(sound, { image: null, audio: null })).toBeNull();
});
