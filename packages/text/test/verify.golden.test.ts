import type { Device } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyCheckpoint } from '../src/index.js';
import { fixture, openTestDevice, presentFixtures } from './fixtures.js';

const DENSE = presentFixtures([
  'e2b-hf',
  'e2b-mlx-4bit',
  'e4b-hf',
  'e4b-mlx-4bit',
  'e4b-mlx-mixed',
  '12b-hf',
  '12b-mlx-4bit',
  '31b-hf',
  '31b-mlx-8bit',
  'wide-e2b-mlx-4bit',
  'wide-31b-mlx-4bit',
]);

let device: Device;
beforeAll(async () => {
  device = await openTestDevice();
});
afterAll(() => device.dispose());

describe('verifyCheckpoint', () => {
  it('finds reference checkpoints', () => {
    expect(DENSE.length).toBeGreaterThan(0);
  });

  for (const name of DENSE) {
    for (const precision of ['high', 'fast'] as const) {
      it(`passes on ${name} in ${precision}`, async () => {
        const report = await verifyCheckpoint(fixture(name), device, { precision });
        const failed = report.sections.filter(({ pass, skipped }) => !pass && skipped === undefined);
        expect(failed).toEqual([]);
        expect(report.pass).toBe(true);
        const judged = report.sections
          .filter(({ skipped }) => skipped === undefined)
          .map((section) => section.name);
        expect(judged).toEqual(expect.arrayContaining(['text.logits', 'generate', 'batched with others']));
      });
    }
  }

  for (const name of DENSE.slice(0, 2)) {
    it(`passes on ${name} without fusions`, async () => {
      expect(await verifyCheckpoint(fixture(name), device, { fusions: false })).toMatchObject({ pass: true });
    });
  }

  for (const name of presentFixtures(['26b-a4b-hf', '26b-a4b-mlx-4bit'])) {
    it(`skips ${name}, and does not count that as a pass`, async () => {
      const report = await verifyCheckpoint(fixture(name), device);
      expect(report.pass).toBe(false);
      expect(report.sections.every(({ pass, skipped }) => !pass && skipped !== undefined)).toBe(true);
    });
  }

  for (const name of presentFixtures(['e2b-assistant-hf', '31b-assistant-hf'])) {
    it.each(['high', 'fast'] as const)(`passes on ${name} in %s`, async (precision) => {
      const report = await verifyCheckpoint(fixture(name), device, { precision });
      expect(report.sections.map((section) => [section.name, section.pass])).toEqual([
        ['assistant.hidden', true],
        ['assistant.logits', true],
      ]);
      for (const { relRms } of report.sections)
        expect(relRms).toBeLessThan(precision === 'high' ? 1e-5 : 5e-2);
    });
  }
});
