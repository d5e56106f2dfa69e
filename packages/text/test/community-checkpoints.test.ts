import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openReference } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renamed, rewriteCheckpoint } from '../../../fixtures/rewritten-checkpoint.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { loadChatTemplate, loadTextModel, verifyCheckpoint } from '../src/index.js';
import { fixture, openTestDevice } from './fixtures.js';

const root = temporaryFolder();
const PLAIN = fixture('31b-hf');
let device: Device;
beforeAll(async () => {
  device = await openTestDevice();
});
afterAll(() => device.dispose());

/** A copy whose output head is stored, equal to the embedding or not. */
function withHead(name: string, isEqual: boolean, isTied: boolean): Promise<string> {
  return rewriteCheckpoint(PLAIN, join(root, name), {
    tensors: (all) => {
      const embedding = all.find((tensor) => tensor.name.endsWith('embed_tokens.weight'))!;
      const head = renamed(embedding, 'lm_head.weight');
      return [...all, isEqual ? head : { ...head, chunks: () => negated(embedding.chunks()) }];
    },
    config: ({ text_config: text, ...config }) => {
      const tied = { tie_word_embeddings: isTied };
      return JSON.stringify({ ...config, ...tied, text_config: { ...Object(text), ...tied } });
    },
  });
}

/** Values of bfloat16 with the other sign. */
async function* negated(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
  for await (const bytes of chunks) yield bytes.map((byte, index) => (index % 2 === 1 ? byte ^ 0x80 : byte));
}

describe('an output head', () => {
  it('of the checkpoint is used, and one that differs from a tied embedding is refused', async () => {
    const equal = await verifyCheckpoint(await withHead('equal', true, false), device);
    expect(equal.pass).toBe(true);
    const other = await verifyCheckpoint(await withHead('other', false, false), device);
    expect(other.pass).toBe(false);
    const loading = loadTextModel(await withHead('ignored', false, true), device);
    await expect(loading).rejects.toMatchObject({ code: 'INVALID_CONFIG', key: 'tie_word_embeddings' });
  });
});

it('is compared with a reference that samples delimiters, which the engine never does itself', async () => {
  const tokens = await (await openReference(PLAIN)).integers('generate.tokens');
  const folder = await rewriteCheckpoint(PLAIN, join(root, 'delimiter'), {
    config: (config) => JSON.stringify({ ...config, boi_token_id: tokens[0] }),
  });
  expect((await verifyCheckpoint(folder, device)).pass).toBe(true);
});

it('chat_template.json is read before tokenizer_config.json', async () => {
  const folder = await rewriteCheckpoint(PLAIN, join(root, 'template'), {});
  const write = async (name: string, template: string) => {
    await writeFile(join(folder, name), JSON.stringify({ chat_template: template }));
    return join(folder, name);
  };
  const files = {
    chatTemplate: null,
    chatTemplateJson: await write('chat_template.json', 'first'),
    tokenizerConfig: await write('tokenizer_config.json', 'second'),
  };
  expect((await loadChatTemplate(files))?.source).toBe('first');
  expect((await loadChatTemplate({ ...files, chatTemplateJson: null }))?.source).toBe('second');
});

it('a name that is not a folder is explained', async () => {
  await expect(loadTextModel('google/gemma-4-none', device)).rejects.toThrow('resolveCheckpoint(');
});
