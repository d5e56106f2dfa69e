import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { verifyCheckpoint } from '@markbase/text';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from './run-markbase.js';

const MIXTURES = ['26b-a4b-hf', '26b-a4b-mlx-4bit', 'wide-26b-a4b-mlx-4bit'].filter((name) =>
  existsSync(join(fixture(name), 'expected.safetensors')),
);

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 });
});
afterAll(() => device.dispose());

describe('a mixture of experts in the text model', () => {
  it('has a reference checkpoint', () => {
    expect(MIXTURES).toContain('26b-a4b-mlx-4bit');
  });

  for (const name of MIXTURES) {
    for (const options of [
      { precision: 'high' },
      { precision: 'fast' },
      { precision: 'high', fusions: false },
    ] as const) {
      it(`passes on ${name} with ${JSON.stringify(options)}`, async () => {
        const report = await verifyCheckpoint(fixture(name), device, {
          ...options,
          feedForward: mixtureOfExperts,
        });
        const failed = report.sections.filter(({ pass, skipped }) => !pass && skipped === undefined);
        expect({ failed, pass: report.pass }).toEqual({ failed: [], pass: true });
        const judged = report.sections.filter(({ skipped }) => skipped === undefined);
        expect(judged.map((section) => section.name)).toEqual(
          expect.arrayContaining(['text.logits', 'generate', 'batched with others']),
        );
      });
    }
  }
});
