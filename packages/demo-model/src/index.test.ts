import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelPath, moeModelPath } from './index.js';

const REQUIRED = [
  'chat_template.jinja',
  'config.json',
  'expected.safetensors',
  'generation_config.json',
  'model.safetensors.index.json',
  'tokenizer.json',
  'tokenizer_config.json',
];

const CHECKPOINTS = [
  { name: 'modelPath', path: modelPath, files: [...REQUIRED, 'processor_config.json'], limit: 14e6 },
  { name: 'moeModelPath', path: moeModelPath, files: REQUIRED, limit: 6e6 },
];

async function json(path: string, name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(path, name), 'utf8'));
}

describe.each(CHECKPOINTS)('$name', ({ path, files, limit }) => {
  it('is an absolute path with everything that a checkpoint needs', async () => {
    expect(isAbsolute(path)).toBe(true);
    expect(await readdir(path)).toEqual(expect.arrayContaining(files));
  });

  it('stays small, with shards below 8 MB', async () => {
    let total = 0;
    for (const name of await readdir(path)) {
      const { size } = await stat(join(path, name));
      expect(size, name).toBeLessThan(8e6);
      total += size;
    }
    expect(total).toBeLessThan(limit);
  });

  it('has the weights whose hashes the README states', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    const weights = (await readdir(path)).filter((name) => name.endsWith('.safetensors'));
    expect(weights.length).toBeGreaterThan(1);
    for (const name of weights) {
      const hash = createHash('sha256')
        .update(await readFile(join(path, name)))
        .digest('hex');
      expect(readme, name).toContain(hash);
    }
  });

  it('has weight files for exactly the tensors of its index', async () => {
    const { weight_map: map } = (await json(path, 'model.safetensors.index.json')) as {
      weight_map: Record<string, string>;
    };
    const weights = (await readdir(path)).filter((name) => /^model.*\.safetensors$/.test(name));
    expect([...new Set(Object.values(map))].sort()).toEqual(weights.sort());
  });

  it('has the texts of the special tokens of Gemma 4, at the ids that config.json names', async () => {
    const tokenizer = await json(path, 'tokenizer.json');
    const ids = new Map(
      (tokenizer.added_tokens as { id: number; content: string }[]).map(({ id, content }) => [content, id]),
    );
    const config = await json(path, 'config.json');
    expect(config.boi_token_id).toBe(ids.get('<|image>'));
    expect(config.image_token_id).toBe(ids.get('<|image|>'));
    expect(config.audio_token_id).toBe(ids.get('<|audio|>'));
    expect(config.eos_token_id).toEqual([ids.get('<eos>'), ids.get('<turn|>'), ids.get('<|tool_response>')]);
  });

  it('keeps decimals in config.json, which transformers requires', async () => {
    const text = await readFile(join(path, 'config.json'), 'utf8');
    expect(text).toContain('"final_logit_softcapping": 30.0');
  });
});

describe('moeModelPath', () => {
  it('has the features of 26B-A4B: experts, shared keys and values in full layers, no towers', async () => {
    const { text_config: text, ...config } = await json(moeModelPath, 'config.json');
    expect(text).toMatchObject({
      enable_moe_block: true,
      num_experts: 8,
      top_k_experts: 2,
      attention_k_eq_v: true,
      num_kv_shared_layers: 0,
      hidden_size_per_layer_input: 0,
    });
    expect(config).toMatchObject({ vision_config: null, audio_config: null });
  });
});
