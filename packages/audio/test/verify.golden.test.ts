import type { Device } from '@markbase/metal-runtime';
import { openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../../fixtures/locate.js';
import { verifyAudio } from '../src/index.js';
import { hearingFixtures } from './fixtures.js';

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 });
});
afterAll(() => device.dispose());

describe('verifyAudio', () => {
  it('finds reference checkpoints of both kinds', () => {
    for (const kind of ['e2b', '12b'])
      expect(hearingFixtures.some((name) => name.startsWith(kind))).toBe(true);
  });

  describe.each(hearingFixtures)('%s', (name) => {
    it.each(['high', 'fast'] as const)('passes in %s', async (precision) => {
      const { sections, softTokens } = (await verifyAudio(fixture(name), device, { precision }))!;
      expect(sections.filter(({ pass }) => !pass)).toEqual([]);
      const tower = name.startsWith('12b') ? [] : ['audio.tower'];
      expect(sections.map((section) => section.name)).toEqual([
        'audio.input_features',
        ...tower,
        'audio.soft_tokens, on given features',
        'audio.soft_tokens',
      ]);
      expect(softTokens.rows).toBe(31);
    });

    it('passes without fusions', async () => {
      const { sections } = (await verifyAudio(fixture(name), device, { fusions: false }))!;
      expect(sections.filter(({ pass }) => !pass)).toEqual([]);
    });
  });

  it.each([8, 4] as const)('quantises a tower to %i bits while loading', async (quantizeOnLoad) => {
    // The reference is unquantised: the effect of 4 bits on a random tower of width 64 is not an error of this engine.
    const { sections } = (await verifyAudio(fixture('e2b-mlx-4bit'), device, { quantizeOnLoad }))!;
    const worst = Math.max(...sections.map(({ relRms }) => relRms ?? Number.NaN));
    expect(worst).toBeGreaterThan(1e-4);
    expect(worst).toBeLessThan(quantizeOnLoad === 8 ? 2e-2 : 0.4);
  });

  it('reports nothing for a model without audio', async () => {
    expect(await verifyAudio(fixture('31b-hf'), device)).toBeNull();
  });
});
