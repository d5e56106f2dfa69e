import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCheckpoint, openReference, type Reference } from '@markbase/loader';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { TextModel, type TextModelOptions } from '../src/index.js';

/** Folder of the tiny reference checkpoints. The repository holds a few; the variable names a folder with all of them. */
const ROOT = process.env.MARKBASE_FIXTURES ?? fileURLToPath(new URL('../../../fixtures', import.meta.url));

/** Path of a reference checkpoint. */
export function fixture(name: string): string {
  return join(ROOT, name);
}

/** Those of the given checkpoints that exist. */
export function presentFixtures(names: readonly string[]): string[] {
  return names.filter((name) => existsSync(join(ROOT, name, 'expected.safetensors')));
}

/** Opens the CPU backend, which every machine has. */
export function openTestDevice(): Promise<Device> {
  return openDevice({ kind: 'cpu', threads: 1 });
}

/** Loads a reference checkpoint and opens its expected values. */
export async function loadFixture(
  name: string,
  device: Device,
  options: TextModelOptions = {},
): Promise<{ model: TextModel; reference: Reference }> {
  const checkpoint = await openCheckpoint(fixture(name));
  const model = await TextModel.load(checkpoint, device, { precision: 'high', ...options });
  return { model, reference: await openReference(fixture(name)) };
}
