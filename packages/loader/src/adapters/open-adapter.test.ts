import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { writeTensors } from '../../test/raw-safetensors.js';
import { openAdapter } from './open-adapter.js';

const root = temporaryFolder();
let count = 0;

async function adapter(
  file: string,
  config: object,
  shapes: Readonly<Record<string, readonly number[]>>,
): Promise<string> {
  const folder = join(root, String(count++));
  await mkdir(folder);
  await writeTensors(join(folder, file), shapes);
  await writeFile(join(folder, 'adapter_config.json'), JSON.stringify(config));
  return folder;
}

const PEFT = 'adapter_model.safetensors';
const Q = 'base_model.model.model.language_model.layers.0.self_attn.q_proj';
const PAIR = { [`${Q}.lora_A.weight`]: [2, 3], [`${Q}.lora_B.weight`]: [4, 2] };

describe('openAdapter', () => {
  it('reads PEFT: alpha / r, alpha / sqrt(r), and exceptions by module', async () => {
    const upOf = async (config: object) => {
      const opened = await openAdapter(await adapter(PEFT, config, PAIR));
      expect(opened).toMatchObject({
        layout: 'peft',
        modules: [{ module: 'language_model.layers.0.self_attn.q_proj', rank: 2, rows: 4, columns: 3 }],
      });
      const { down, up } = await opened.modules[0]!.read();
      expect([...down]).toEqual([0, 1, 2, 3, 4, 5]);
      return [...up];
    };
    const stored = [6, 7, 8, 9, 10, 11, 12, 13];
    expect(await upOf({ lora_alpha: 6 })).toEqual(stored.map((value) => value * 3));
    expect(await upOf({ lora_alpha: 6, alpha_pattern: { 'self_attn.q_proj': 4, k_proj: 9 } })).toEqual(
      stored.map((value) => value * 2),
    );
    const stabilised = await upOf({ lora_alpha: 6, use_rslora: true });
    expect(stabilised[0]).toBeCloseTo((6 * 6) / Math.sqrt(2), 4);
  });

  it('reads MLX: transposed, with its scale', async () => {
    const name = 'language_model.model.layers.1.mlp.up_proj';
    const config = { fine_tune_type: 'lora', lora_parameters: { rank: 2, scale: 10, dropout: 0 } };
    const folder = await adapter('adapters.safetensors', config, {
      [`${name}.lora_a`]: [3, 2],
      [`${name}.lora_b`]: [2, 2],
    });
    const { layout, modules } = await openAdapter(folder);
    expect([layout, modules[0]!.module]).toEqual(['mlx', 'language_model.layers.1.mlp.up_proj']);
    const { down, up } = await modules[0]!.read();
    expect([...down]).toEqual([0, 2, 4, 1, 3, 5]);
    expect([...up]).toEqual([60, 80, 70, 90]);
  });

  it.each([
    ['DoRA', { lora_alpha: 1, use_dora: true }, 'use_dora'],
    ['trained modules', { lora_alpha: 1, modules_to_save: ['lm_head'] }, 'modules_to_save'],
    ['biases', { lora_alpha: 1, bias: 'all' }, 'bias'],
    ['another method', { peft_type: 'IA3' }, 'peft_type'],
    ['no alpha', {}, 'lora_alpha'],
  ])('refuses %s', async (_, config, key) => {
    await expect(openAdapter(await adapter(PEFT, config, PAIR))).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      key,
    });
  });

  it('refuses other kinds of MLX adapters', async () => {
    const folder = await adapter('adapters.safetensors', { fine_tune_type: 'dora' }, {});
    await expect(openAdapter(folder)).rejects.toMatchObject({ key: 'fine_tune_type' });
  });

  it.each([
    ['half a pair', { [`${Q}.lora_A.weight`]: [2, 3] }],
    ['two ranks', { [`${Q}.lora_A.weight`]: [2, 3], [`${Q}.lora_B.weight`]: [4, 3] }],
    ['other tensors', { ...PAIR, [`${Q}.lora_magnitude_vector.weight`]: [4] }],
    ['nothing', {}],
  ])('refuses %s', async (_, shapes) => {
    await expect(openAdapter(await adapter(PEFT, { lora_alpha: 1 }, shapes))).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
    });
  });

  it('refuses a folder without an adapter', async () => {
    await expect(openAdapter(root)).rejects.toThrow('neither adapter_model.safetensors of PEFT nor');
  });
});
