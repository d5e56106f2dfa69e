import { existsSync } from 'node:fs';
import { openCheckpoint } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import { onTestFinished } from 'vitest';
import { findFixture, fixture } from '../../../fixtures/locate.js';
import { AudioModel, type AudioModelOptions } from '../src/index.js';

/** The reference checkpoints that hear. */
const HEARING = [
  'e2b-hf',
  'e2b-mlx-4bit',
  'e4b-hf',
  'e4b-mlx-4bit',
  'e4b-mlx-mixed',
  '12b-hf',
  '12b-mlx-4bit',
] as const;

/** Those of the checkpoints that hear and are there. */
export const hearingFixtures: readonly string[] = HEARING.filter((name) => {
  const folder = findFixture(name);
  return folder !== null && existsSync(folder);
});

/** Loads the audio part of a reference checkpoint for the time of a test. */
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
