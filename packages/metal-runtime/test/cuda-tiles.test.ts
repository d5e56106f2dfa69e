import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { checkBriefly } from '../conformance/check-briefly.js';
import { checkCase } from '../conformance/check-case.js';
import { linear } from '../families/linear/oracle.js';
import type { Device } from '../src/index.js';
import { isBriefOn, isOverStandIn, isTakenOn, openCuda } from './cuda-host.js';
import { plannedKernels } from './planned-kernels.js';

const device = await openCuda();
device?.dispose();

/** Small cases would all run on the smallest tiles. `linear_batch` takes only the cases that are named after it. */
describe.runIf(device)('tiles of many rows on cuda', { timeout: 120_000 }, () => {
  const check = isBriefOn(device) ? checkBriefly : checkCase;
  // wgmma needs compute capability 9.0 and a driver for CUDA 12 or newer.
  const hasWarpgroups =
    device?.info.isa === 'sm_90' && Number(device.info.driver?.replace('CUDA ', '')) >= 12;
  const kernels = [
    ...(hasWarpgroups ? ['linear_warpgroup256', 'linear_warpgroup128', 'linear_warpgroup64'] : []),
    ...(hasWarpgroups
      ? [
          'linear_batch32x128',
          'linear_batch32x192',
          'linear_batch64x128',
          'linear_batch64x192',
          'linear_batch64x256',
          'linear_batch128x192',
        ]
      : []),
    ...['linear_wide128x128', 'linear_wide64x128', 'linear_wide64x64'],
  ];
  describe.each(kernels)('%s', (kernel) => {
    let tiled: Device;
    const planned = new Set<string>();
    beforeAll(async () => {
      vi.stubEnv('MARKBASE_WIDE_TILE', kernel);
      tiled = (await openCuda())!;
      vi.unstubAllEnvs();
    });
    afterAll(() => tiled.dispose());

    const isBatch = kernel.startsWith('linear_batch');
    const cases = linear.cases.filter(
      (test) => (isBatch ? test.name.startsWith('batch') : test.rows.count > 32) && isTakenOn(device, test),
    );
    it.each(cases)('$name', async (test) => {
      await check(tiled, test);
      for (const name of plannedKernels(tiled, test, 'fast')) planned.add(name);
    });

    it('ran in every format that it supports', () => {
      const others = ['q2', 'q6', 'q8', ...(kernel === 'linear_wide128x128' ? [] : ['bf16'])];
      const formats = isBatch ? ['q4'] : ['q4', ...others];
      expect([...planned].filter((name) => name.startsWith(`${kernel}_`)).sort()).toEqual(
        formats.map((format) => `${kernel}_${format}`).sort(),
      );
    });
  });
});

/** Its kernels for 17 to 32 rows are its own. */
describe.runIf(isOverStandIn())('a GPU without warpgroup products', { timeout: 120_000 }, () => {
  let older: Device;
  beforeAll(async () => {
    vi.stubEnv('CUDA_SIM_CAPABILITY', '80');
    older = (await openCuda())!;
    vi.unstubAllEnvs();
  });
  afterAll(() => older.dispose());

  it.each(linear.cases.filter(({ name, rows }) => name.startsWith('batch') && rows.count < 33))(
    '$name',
    async (test) => {
      await checkCase(older, test);
      expect(plannedKernels(older, test, 'fast')).toContain('linear_whole32_q4');
    },
  );
});
