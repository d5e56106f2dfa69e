import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fromFloat32, openCheckpoint, writeSafetensors } from '@markbase/loader';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { verifyVision } from '../src/index.js';
import { checkpointFolder } from './fixtures.js';

const PLAIN = checkpointFolder('31b-hf')!;

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 });
});
afterAll(() => device.dispose());

/** A copy of the reference checkpoint with its vision part stored in another type. */
async function storedAs(dtype: 'F32' | 'F16'): Promise<string> {
  const folder = temporaryFolder();
  for (const name of ['config.json', 'expected.safetensors']) await cp(join(PLAIN, name), join(folder, name));
  const { weights } = await openCheckpoint(PLAIN);
  const tensors = [...weights.entries()].map(([name, tensor]) => {
    if (!name.startsWith('vision_tower.') && !name.startsWith('embed_vision.')) {
      return {
        name,
        dtype: tensor.dtype,
        shape: tensor.shape,
        chunks: async function* () {
          yield await tensor.read();
        },
      };
    }
    return {
      name,
      dtype,
      shape: tensor.shape,
      chunks: async function* () {
        yield fromFloat32(await tensor.readFloat32(), dtype);
      },
    };
  });
  await writeSafetensors(join(folder, 'model.safetensors'), tensors);
  return folder;
}

it('gives the same bits for a tower stored as float32', async () => {
  const [stored, expected] = [
    await verifyVision(await storedAs('F32'), device),
    await verifyVision(PLAIN, device),
  ];
  expect(stored!.softTokens.values).toEqual(expected!.softTokens.values);
});

it.each(['F32', 'F16'] as const)(
  'stays within the limits in fast for a tower stored as %s',
  async (dtype) => {
    const found = await verifyVision(await storedAs(dtype), device, { precision: 'fast' });
    expect(found!.sections.filter((section) => !section.pass)).toEqual([]);
  },
);
