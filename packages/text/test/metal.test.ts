import { fileURLToPath } from 'node:url';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { expect, it } from 'vitest';
import { openMetal } from '../../../fixtures/open-metal.js';
import { generate, loadTextModel } from '../src/index.js';
import { openTestDevice } from './fixtures.js';

const DIRECTORY = fileURLToPath(new URL('../../demo-model/model', import.meta.url));

async function answer(device: Device): Promise<string> {
  const model = await loadTextModel(DIRECTORY, device, { precision: 'high', contextTokens: 128 });
  try {
    const messages = [{ role: 'user', content: 'What is 2 + 2?' }] as const;
    return (await generate(model, { messages, temperature: 0, maxTokens: 12 })).text;
  } finally {
    model.dispose();
    device.dispose();
  }
}

const metal = await openMetal(openDevice);

it.runIf(metal)('generates the same text on Metal as on the CPU', { timeout: 300_000 }, async () => {
  const expected = await answer(await openTestDevice());
  expect(expected.length).toBeGreaterThan(0);
  expect(await answer(metal!)).toBe(expected);
});
