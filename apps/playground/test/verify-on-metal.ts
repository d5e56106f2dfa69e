import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { verifyAudio } from '@markbase/audio';
import { openDevice } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { verifyCheckpoint } from '@markbase/text';
import { verifyVision } from '@markbase/vision';
import { afterAll, describe, expect, it } from 'vitest';
import { openMetal } from '../../../fixtures/open-metal.js';
import { fixture } from './run-markbase.js';

/** All checkpoints with reference outputs; drafters (assistant) have no graph. */
const FIXTURES = readdirSync(fixture('.')).filter(
  (name) =>
    !name.includes('assistant') &&
    ['expected.safetensors', 'config.json'].every((file) => existsSync(join(fixture(name), file))),
);

/**
 * Checkpoints with the head widths of released models take the simulator ten minutes: only with MARKBASE_VERIFY=all.
 */
const LONG = /^wide-/;

/**
 * Runs `verify` for every fixture on Metal. There is one test file per precision so that they run in parallel: the
 * simulator runs every thread of every kernel on the CPU, and a checkpoint may take minutes.
 */
export async function describeVerifyOnMetal(precision: 'high' | 'fast'): Promise<void> {
  const device = await openMetal(openDevice);
  describe.runIf(device)(
    `verify on ${device?.info.kind ?? 'metal'} in ${precision}`,
    { timeout: 1_200_000 },
    () => {
      afterAll(() => device!.dispose());

      const leavesOut = device?.info.kind === 'metal-sim' && process.env.MARKBASE_VERIFY !== 'all';
      it.each(FIXTURES.filter((name) => !leavesOut || !LONG.test(name)))('passes on %s', async (name) => {
        const report = await verifyCheckpoint(fixture(name), device!, {
          precision,
          feedForward: mixtureOfExperts,
          encoders: { image: verifyVision, audio: verifyAudio },
        });
        const failed = report.sections.filter(({ pass, skipped }) => !pass && skipped === undefined);
        expect({ failed, pass: report.pass }).toEqual({ failed: [], pass: true });
        expect(report.sections.filter(({ skipped }) => skipped === undefined).length).toBeGreaterThan(3);
      });
    },
  );
}
