import { openCheckpoint } from '@markbase/loader';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { mixtureOfExperts } from '../src/index.js';
import { type Damage, damagedCopy, fixture, identity } from './fixtures.js';

const NAME = '26b-a4b-mlx-4bit';
const AT = 'language_model.model.layers.0';

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 });
});
afterAll(() => device.dispose());

async function load(damage: Damage, layerIndex = 0): Promise<unknown> {
  const folder = temporaryFolder();
  const checkpoint = await openCheckpoint(await damagedCopy(NAME, folder, damage));
  return mixtureOfExperts({ checkpoint, device, layerIndex, dense: identity });
}

describe('mixtureOfExperts', () => {
  it('loads every layer of a valid checkpoint, and frees what it mapped', async () => {
    const checkpoint = await openCheckpoint(fixture(NAME));
    let isDisposed = false;
    const dense = {
      ...identity,
      dispose: () => {
        isDisposed = true;
      },
    };
    for (const layerIndex of checkpoint.config.text.layers.keys()) {
      mixtureOfExperts({ checkpoint, device, layerIndex, dense }).dispose?.();
    }
    expect(isDisposed).toBe(true);
  });

  it('refuses more chosen experts than exist', async () => {
    await expect(load({ config: { top_k_experts: 9 } })).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      key: 'text_config.top_k_experts',
    });
  });

  it('refuses a number of experts that differs from the tensors, and names all of them', async () => {
    await expect(load({ config: { num_experts: 4 } })).rejects.toMatchObject({
      code: 'WEIGHT_MAP',
      mismatched: expect.arrayContaining([
        expect.stringMatching(/router\.proj/),
        expect.stringMatching(/per_expert_scale.*\[8\], expected .*\[4\]/),
        expect.stringMatching(/switch_glu\.gate_proj/),
        expect.stringMatching(/switch_glu\.down_proj/),
      ]),
    });
  });

  it('refuses a wrong width of the experts', async () => {
    await expect(load({ config: { moe_intermediate_size: 96 } })).rejects.toMatchObject({
      code: 'WEIGHT_MAP',
    });
  });

  it('names every missing tensor', async () => {
    const missing = [
      'router.scale',
      'post_feedforward_layernorm_1.weight',
      'pre_feedforward_layernorm_2.weight',
    ];
    const rename = (name: string) => (missing.some((part) => name === `${AT}.${part}`) ? null : name);
    await expect(load({ rename })).rejects.toMatchObject({
      code: 'WEIGHT_MAP',
      missing: missing.map((part) => `language_model.layers.0.${part}`),
    });
  });

  it('refuses both layouts in one file', async () => {
    const copies = { [`${AT}.experts.gate_up_proj`]: `${AT}.experts.switch_glu.gate_proj.weight` };
    await expect(load({ copies })).rejects.toThrow(/gate_up_proj is in the Hugging Face layout.*MLX layout/);
  });

  it('refuses experts with unknown names', async () => {
    const rename = (name: string) => name.replace('.switch_glu.', '.switch_mlp.');
    await expect(load({ rename })).rejects.toMatchObject({
      code: 'WEIGHT_MAP',
      unused: expect.arrayContaining([expect.stringMatching(/experts\.switch_mlp\.gate_proj/)]),
    });
  });

  it('refuses a dense model', async () => {
    await expect(load({ config: { enable_moe_block: false } })).rejects.toMatchObject({
      code: 'UNSUPPORTED_MODEL',
    });
  });
});
