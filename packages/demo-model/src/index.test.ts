import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelPath } from './index.js';

const REQUIRED = [
  'chat_template.jinja',
  'config.json',
  'expected.safetensors',
  'generation_config.json',
  'model.safetensors.index.json',
  'processor_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
];

async function json(name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(modelPath, name), 'utf8'));
}

describe('modelPath', () => {
  it('is an absolute folder with everything that a checkpoint needs', async () => {
    expect(isAbsolute(modelPath)).toBe(true);
    expect(await readdir(modelPath)).toEqual(expect.arrayContaining(REQUIRED));
  });

  it('stays below 14 MB, with shards below 8 MB', async () => {
    let total = 0;
    for (const name of await readdir(modelPath)) {
      const { size } = await stat(join(modelPath, name));
      expect(size, name).toBeLessThan(8e6);
      total += size;
    }
    expect(total).toBeLessThan(14e6);
  });

  it('has the weights whose hashes the README states', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    const weights = (await readdir(modelPath)).filter((name) => name.endsWith('.safetensors'));
    expect(weights.length).toBeGreaterThan(1);
    for (const name of weights) {
      const hash = createHash('sha256')
        .update(await readFile(join(modelPath, name)))
        .digest('hex');
      expect(readme, name).toContain(hash);
    }
  });

  it('has weight files for exactly the tensors of its index', async () => {
    const { weight_map: map } = (await json('model.safetensors.index.json')) as {
      weight_map: Record<string, string>;
    };
    const files = (await readdir(modelPath)).filter((name) => name.startsWith('model-'));
    expect([...new Set(Object.values(map))].sort()).toEqual(files.sort());
  });

  it('has the texts of the special tokens of Gemma 4, at the ids that config.json names', async () => {
    const tokenizer = await json('tokenizer.json');
    const ids = new Map(
      (tokenizer.added_tokens as { id: number; content: string }[]).map(({ id, content }) => [content, id]),
    );
    const config = await json('config.json');
    expect(config.boi_token_id).toBe(ids.get('<|image>'));
    expect(config.image_token_id).toBe(ids.get('<|image|>'));
    expect(config.audio_token_id).toBe(ids.get('<|audio|>'));
    expect(config.eos_token_id).toEqual([ids.get('<eos>'), ids.get('<turn|>'), ids.get('<|tool_response>')]);
  });

  it('keeps decimals in config.json, which transformers insists on', async () => {
    const text = await readFile(join(modelPath, 'config.json'), 'utf8');
    expect(text).toContain('"final_logit_softcapping": 30.0');
  });
});
