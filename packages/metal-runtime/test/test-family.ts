import { afterAll, beforeAll, describe, it } from 'vitest';
import { openMetal } from '../../../fixtures/open-metal.js';
import { checkBriefly } from '../conformance/check-briefly.js';
import { checkCase } from '../conformance/check-case.js';
import type { ConformanceCase, ConformanceFamily } from '../conformance/conformance-case.js';
import { type Device, listIsas, openDevice } from '../src/index.js';
import { isBriefOn, isTakenOn, missingCudaParts, openCuda } from './cuda-host.js';

/** Creates tests of a family's cases for the backend of a project in vitest.config.ts. */
export async function testFamily(family: ConformanceFamily): Promise<void> {
  const backend = process.env.MARKBASE_CONFORMANCE_BACKEND ?? 'cpu';
  if (backend === 'metal') return testOnMetal(family);
  if (backend === 'cuda') return testOnCuda(family);
  testOnCpu(family);
}

/** Every instruction set of this machine; one thread yields the same bits as two. */
function testOnCpu({ name, cases }: ConformanceFamily): void {
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

    describe(name, () => {
      it.each(cases)('$name', (test) => checkCase(device, test, { 'one thread': oneThread }));
    });
  });
}

/** The simulator runs every thread of a kernel on the processor: cases with more rows are checked in fewer ways there. */
const MANY_ROWS = 64;

async function testOnMetal({ name, cases }: ConformanceFamily): Promise<void> {
  const device = await openMetal(openDevice);
  const isBrief = ({ rows }: ConformanceCase) => device?.info.kind === 'metal-sim' && rows.count > MANY_ROWS;

  describe.runIf(device)(`conformance on ${device?.info.kind ?? 'metal'}`, { timeout: 600_000 }, () => {
    afterAll(() => device!.dispose());

    describe(name, () => {
      it.each(cases)('$name', (test) => (isBrief(test) ? checkBriefly : checkCase)(device!, test));
    });
  });
}

async function testOnCuda({ name, cases }: ConformanceFamily): Promise<void> {
  const device = await openCuda();
  const check = isBriefOn(device) ? checkBriefly : checkCase;

  describe.runIf(device)(
    device ? 'conformance on cuda' : `conformance on cuda: ${missingCudaParts()}`,
    { timeout: 120_000 },
    () => {
      afterAll(() => device!.dispose());

      describe(name, () => {
        it.each(cases.filter((test) => isTakenOn(device, test)))('$name', (test) => check(device!, test));
      });
    },
  );
}
