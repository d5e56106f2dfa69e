import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeSafetensors } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
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

/** The text part of a drafter, one small layer. */
const DRAFTER = {
  model_type: 'gemma4_assistant',
  backbone_hidden_size: 64,
  use_ordered_embeddings: false,
  text_config: {
    model_type: 'gemma4_text',
    vocab_size: 384,
    hidden_size: 64,
    intermediate_size: 128,
    num_hidden_layers: 1,
    layer_types: ['full_attention'],
    num_attention_heads: 4,
    num_key_value_heads: 1,
    num_kv_shared_layers: 1,
    head_dim: 32,
    sliding_window: 16,
    max_position_embeddings: 4096,
  },
};

/** Writes a drafter with all-zero weights to a new folder. */
async function writeDrafter(): Promise<string> {
  const folder = temporaryFolder();
  await writeFile(join(folder, 'config.json'), JSON.stringify(DRAFTER));
  const shape = [384, 64];
  await writeSafetensors(join(folder, 'model.safetensors'), [
    { name: 'model.embed_tokens.weight', dtype: 'BF16', shape, chunks: () => [new Uint8Array(384 * 64 * 2)] },
  ]);
  return folder;
}

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

  it('skips a drafter, and does not count that as a pass', async () => {
    const folder = await writeDrafter();
    const report = await verifyCheckpoint(folder, device);
    expect(report.pass).toBe(false);
    expect(report.sections).toEqual([expect.objectContaining({ name: 'assistant', pass: false })]);
    expect(report.sections[0]!.skipped).toMatch(/drafters/);
  });
});
