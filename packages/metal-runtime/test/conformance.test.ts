import { afterAll, beforeAll, describe, it } from 'vitest';
import { checkCase } from '../conformance/check-case.js';
import { FAMILIES } from '../conformance/index.js';
import { type Device, listIsas, openDevice } from '../src/index.js';

describe.each(listIsas())('conformance on cpu %s', (isa) => {
  let device: Device;
  let oneThread: Device;

  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', isa, threads: 2 });
    oneThread = await openDevice({ kind: 'cpu', isa, threads: 1 });
  });

  afterAll(() => {
    device.dispose();
    oneThread.dispose();
  });

  describe.each(FAMILIES)('$name', ({ cases }) => {
    it.each(cases)('$name', async (test) => {
      await checkCase(device, test, { 'one thread': oneThread });
    });
  });
});
