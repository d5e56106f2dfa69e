import { type Device, openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyVision } from '../src/index.js';
import { checkpointFolder, SEEING } from './fixtures.js';

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 });
});
afterAll(() => device.dispose());

describe.each(SEEING)('%s against the reference outputs', (name) => {
  it.each(['high', 'fast'] as const)('in %s', async (precision) => {
    const found = await verifyVision(checkpointFolder(name)!, device, { precision });
    expect(found!.sections.filter((section) => !section.pass)).toEqual([]);
    expect(found!.sections.length).toBe(name.startsWith('12b') ? 1 : 2);
  });

  it('without fusions, with the same bits', async () => {
    const fused = await verifyVision(checkpointFolder(name)!, device);
    const plain = await verifyVision(checkpointFolder(name)!, device, { fusions: false });
    expect(plain!.softTokens.values).toEqual(fused!.softTokens.values);
  });
});
