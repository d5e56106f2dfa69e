import { existsSync } from 'node:fs';
import { openCheckpoint } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import { onTestFinished } from 'vitest';
import { findFixture, fixture } from '../../../fixtures/locate.js';
import { AudioModel, type AudioModelOptions } from '../src/index.js';

/** The reference checkpoints with audio. */
const HEARING = [
  'e2b-hf',
  'e2b-mlx-4bit',
  'e4b-hf',
  'e4b-mlx-4bit',
  'e4b-mlx-mixed',
  '12b-hf',
  '12b-mlx-4bit',
] as const;

/** The reference checkpoints with audio that exist here. */
export const hearingFixtures: readonly string[] = HEARING.filter((name) => {
  const folder = findFixture(name);
  return folder !== null && existsSync(folder);
});

/** Loads the audio part of a reference checkpoint for the duration of a test. */
export async function loadAudio(
  name: string,
  device: Device,
  options: AudioModelOptions = {},
): Promise<AudioModel> {
  const checkpoint = await openCheckpoint(fixture(name));
  const model = await AudioModel.load(checkpoint, device, { precision: 'high', ...options });
  onTestFinished(() => model.dispose());
  return model;
}
