import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { writeTensors } from '../../test/raw-safetensors.js';
import { E2B } from '../../test/released-configs.js';
import { openCheckpoint } from './open-checkpoint.js';

const root = temporaryFolder();

async function writeCheckpoint(folder: string, files: Readonly<Record<string, string>> = {}): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'config.json'), JSON.stringify({ ...E2B, eos_token_id: [1, 106] }));
  await writeTensors(join(folder, 'model.safetensors'), { 'model.language_model.norm.weight': [2] });
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
}

describe('openCheckpoint', () => {
  it('returns settings, tensors and companion files', async () => {
    const folder = join(root, 'plain');
    await writeCheckpoint(folder, {
      'tokenizer.json': '{}',
      'chat_template.jinja': '{{ bos_token }}',
      'generation_config.json': '{"eos_token_id": [50], "top_k": 64}',
    });
    const checkpoint = await openCheckpoint(folder);
    expect(checkpoint).toMatchObject({
      directory: folder,
      config: { family: 'gemma4' },
      quantization: null,
      sizeBytes: 8,
      generation: { stopTokenIds: [50, 1, 106], topK: 64 },
      files: {
        tokenizer: join(folder, 'tokenizer.json'),
        tokenizerConfig: null,
        chatTemplate: join(folder, 'chat_template.jinja'),
        generationConfig: join(folder, 'generation_config.json'),
        processorConfig: null,
        preprocessorConfig: null,
      },
    });
    expect([...(await checkpoint.weights.tensor('language_model.norm.weight').readFloat32())]).toEqual([
      0, 1,
    ]);
  });

  it('finds the snapshot that refs/main names, else the newest', async () => {
    const repository = join(root, 'models--google--gemma');
    const snapshot = (name: string) => join(repository, 'snapshots', name);
    await writeCheckpoint(snapshot('old'));
    await writeCheckpoint(snapshot('new'));
    await mkdir(snapshot('incomplete'));
    await utimes(snapshot('old'), new Date(1000), new Date(1000));
    expect((await openCheckpoint(repository)).directory).toBe(snapshot('new'));

    await mkdir(join(repository, 'refs'));
    await writeFile(join(repository, 'refs', 'main'), 'old\n');
    expect((await openCheckpoint(repository)).directory).toBe(snapshot('old'));
    for (const revision of ['../snapshots/old', '..', '.', '', 'gone']) {
      await writeFile(join(repository, 'refs', 'main'), revision);
      expect((await openCheckpoint(repository)).directory).toBe(snapshot('new'));
    }
  });

  it('refuses folders that are not checkpoints', async () => {
    const empty = join(root, 'empty');
    await mkdir(empty);
    await expect(openCheckpoint(empty)).rejects.toMatchObject({ code: 'FILE_ACCESS', path: empty });
    await expect(openCheckpoint(join(root, 'none'))).rejects.toMatchObject({ code: 'FILE_ACCESS' });
    await mkdir(join(empty, 'snapshots'));
    await expect(openCheckpoint(empty)).rejects.toMatchObject({ code: 'FILE_ACCESS' });
  });

  it.each([
    ['config.json', '{', 'InvalidJson'],
    ['config.json', ' '.repeat(8 * 1024 * 1024 + 1), 'FileTooLarge'],
    ['generation_config.json', '\ufeff', 'InvalidJson'],
  ])('refuses a broken %s', async (name, content, rule) => {
    const folder = join(root, `broken-${rule}-${name}`);
    await writeCheckpoint(folder, { [name]: content });
    await expect(openCheckpoint(folder)).rejects.toMatchObject({ code: 'CORRUPT_FILE', rule });
  });

  it('stops with the reason of the signal', async () => {
    const folder = join(root, 'aborted');
    await writeCheckpoint(folder);
    const controller = new AbortController();
    controller.abort();
    await expect(openCheckpoint(folder, { signal: controller.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });
});
