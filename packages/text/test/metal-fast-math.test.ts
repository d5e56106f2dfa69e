import { openDevice } from '@markbase/metal-runtime';
import { afterAll, expect, it } from 'vitest';
import { verifyLayers, verifyText } from '../src/verify/text-sections.js';
import { loadFixture, presentFixtures } from './fixtures.js';

// The backend requests safe math; the simulator compiles with fast math nevertheless.
process.env.METAL_SIM_FAST_MATH = '1';
const device = await openDevice({ kind: 'metal-sim' }).catch(() => null);
const [FIXTURE] = presentFixtures(['e2b-mlx-4bit']);

afterAll(() => device?.dispose());

it.runIf(device && FIXTURE)(
  'a model has the reference outputs on Metal with fast math',
  { timeout: 300_000 },
  async () => {
    for (const precision of ['high', 'fast'] as const) {
      const options = { precision, contextTokens: 256, prefillChunk: 256, checkFinite: true };
      const { model, reference } = await loadFixture(FIXTURE!, device!, options);
      const context = { reference, precision, whole: model, chunked: model };
      for (const section of [...(await verifyText(context)), ...(await verifyLayers(context))]) {
        expect(section, precision).toMatchObject({ pass: true });
      }
      model.dispose();
    }
  },
);
