import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checkpoint, openCheckpoint, writeSafetensors } from '@markbase/loader';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { findAssistant } from './find-assistant.js';

const TEXT = {
  ...{ model_type: 'gemma4_text', vocab_size: 384, hidden_size: 64, intermediate_size: 128, head_dim: 32 },
  ...{
    num_hidden_layers: 1,
    layer_types: ['full_attention'],
    num_attention_heads: 4,
    num_key_value_heads: 1,
  },
  ...{ sliding_window: 16, max_position_embeddings: 4096 },
};

/** A checkpoint with a config.json and one small tensor. */
async function write(folder: string, name: string, config: object): Promise<Checkpoint> {
  const path = join(folder, name);
  await mkdir(path);
  await writeFile(join(path, 'config.json'), JSON.stringify({ ...config, text_config: TEXT }));
  const tensor = {
    name: 'model.norm.weight',
    dtype: 'BF16',
    shape: [64],
    chunks: () => [new Uint8Array(128)],
  } as const;
  await writeSafetensors(join(path, 'model.safetensors'), [tensor]);
  return openCheckpoint(path);
}

it('finds the assistant beside a model by its published name, if it was made for that model', async () => {
  const folder = temporaryFolder();
  const drafter = (backbone: number) => ({ model_type: 'gemma4_assistant', backbone_hidden_size: backbone });
  const model = await write(folder, 'gemma-4-E2B-it-4bit', { model_type: 'gemma4' });
  expect(await findAssistant(model)).toBeNull();
  await write(folder, 'gemma-4-E4B-it-assistant', drafter(64));
  await write(folder, 'gemma-4-E2B-it-assistant', drafter(128));
  expect(await findAssistant(model)).toBeNull();
  const assistant = await write(folder, 'gemma-4-E2B-it-assistant-bf16', drafter(64));
  expect((await findAssistant(model))?.directory).toBe(assistant.directory);
  expect(await findAssistant(assistant)).toBeNull();
});
