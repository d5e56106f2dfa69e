import { join } from 'node:path';
import { findFixture } from '../../../fixtures/locate.js';

const CHECKPOINTS = [
  'e2b-hf',
  'e2b-mlx-4bit',
  'e4b-hf',
  'e4b-mlx-4bit',
  'e4b-mlx-mixed',
  '26b-a4b-hf',
  '26b-a4b-mlx-4bit',
  '31b-hf',
  '31b-mlx-8bit',
  '12b-hf',
  '12b-mlx-4bit',
];

/** The reference checkpoints with vision that exist here; the repository contains a selection. */
export const SEEING: readonly string[] = CHECKPOINTS.filter((name) => checkpointFolder(name) !== null);

/** Folder of a reference checkpoint; null if it does not exist. */
export function checkpointFolder(name: string): string | null {
  return findFixture(join(name, 'expected.safetensors')) === null ? null : findFixture(name);
}
