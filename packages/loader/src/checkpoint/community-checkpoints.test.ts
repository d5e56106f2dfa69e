import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { renamed, rewriteCheckpoint } from '../../../../fixtures/rewritten-checkpoint.js';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { quantizeCheckpoint } from '../quantization/quantize-checkpoint.js';
import { inspectCheckpoint } from '../report/inspect-checkpoint.js';
import { validateCheckpoint } from '../report/validate-checkpoint.js';
import type { TensorSource } from '../safetensors/tensor-group.js';
import { writeSafetensors } from '../safetensors/write-safetensors.js';
import { openCheckpoint } from './open-checkpoint.js';

const root = temporaryFolder();
const E2B = fixture('e2b-mlx-4bit');
const UNIFIED = fixture('12b-mlx-4bit');
const PLAIN = fixture('31b-hf');
let count = 0;
const folderName = () => join(root, String(count++));
const isText = ({ name }: TensorSource) => name.startsWith('language_model.');
const json = (config: object) => JSON.stringify(config);

async function codesOf(folder: string): Promise<string[]> {
  const { findings } = await validateCheckpoint(folder);
  return findings
    .filter(({ code }) => code !== 'NO_TOKENIZER' && code !== 'LOW_BITS')
    .map(({ level, code }) => `${level} ${code}`);
}

describe('capability follows from the tensors', () => {
  it.each([
    ['e2b', E2B, 'vision_tower, embed_vision', 'audio_tower, embed_audio'],
    ['12b', UNIFIED, 'vision_embedder, embed_vision', 'embed_audio'],
  ])('a text-only conversion of %s takes no media, and says why', async (_, source, vision, audio) => {
    const folder = await rewriteCheckpoint(source, folderName(), { tensors: (all) => all.filter(isText) });
    const checkpoint = await openCheckpoint(folder);
    expect(checkpoint.config).toMatchObject({ vision: null, audio: null });
    expect(checkpoint.absent.vision).toContain(`no tensors of ${vision}: it is a text-only conversion`);
    expect(checkpoint.absent.audio).toContain(`no tensors of ${audio}: it is a text-only conversion`);
    expect(inspectCheckpoint(checkpoint).towers).toEqual({ vision: false, audio: false });
    expect(await codesOf(folder)).toEqual([]);
    const whole = await openCheckpoint(source);
    expect(whole.absent).toEqual({ vision: null, audio: null });
    expect(inspectCheckpoint(whole).towers).toEqual({ vision: true, audio: true });
  });

  it('reports a tower without a config, and half a tower', async () => {
    const unclaimed = await rewriteCheckpoint(E2B, folderName(), {
      config: (config) => json({ ...config, vision_config: null }),
    });
    expect(await codesOf(unclaimed)).toEqual(['warning TOWER_WITHOUT_CONFIG']);
    expect((await openCheckpoint(unclaimed)).absent).toMatchObject({
      vision: expect.stringContaining('copy vision_config from the original'),
      audio: null,
    });
    const half = await rewriteCheckpoint(E2B, folderName(), {
      tensors: (all) => all.filter(({ name }) => !name.startsWith('embed_audio.')),
    });
    expect(await codesOf(half)).toEqual(['error INCOMPLETE_TOWER']);
    expect((await openCheckpoint(half)).config).toMatchObject({ audio: null });
  });

  it('reads the sidecar that config.json names, or names it', async () => {
    const side: TensorSource[] = [];
    const folder = await rewriteCheckpoint(E2B, folderName(), {
      tensors: (all) => {
        side.push(...all.filter(({ name }) => /^(vision_tower|embed_vision)\./.test(name)));
        return all.filter((tensor) => !side.includes(tensor));
      },
      config: (config) => json({ ...config, optiq_vision: { sidecar: 'optiq_vision.safetensors' } }),
    });
    expect((await openCheckpoint(folder)).absent.vision).toContain(
      'optiq_vision.safetensors has more tensors',
    );
    expect(await codesOf(folder)).toEqual(['error SIDECAR_MISSING']);
    await writeSafetensors(join(folder, 'optiq_vision.safetensors'), side);
    const { absent, weights } = await openCheckpoint(folder);
    expect(absent).toEqual({ vision: null, audio: null });
    expect(weights.names().length).toBe((await openCheckpoint(E2B)).weights.names().length);
    expect(await codesOf(folder)).toEqual([]);
  });
});

describe('names', () => {
  it.each(['module.', '_orig_mod.', 'base_model.model.', 'module._orig_mod.'])(
    'are read with the prefix %s',
    async (prefix) => {
      const folder = await rewriteCheckpoint(E2B, folderName(), {
        tensors: (all) => all.map((tensor) => renamed(tensor, `${prefix}${tensor.name}`)),
      });
      expect((await openCheckpoint(folder)).weights.names().sort()).toEqual(
        (await openCheckpoint(E2B)).weights.names().sort(),
      );
    },
  );

  it('are read without the model around the decoder', async () => {
    const folder = await rewriteCheckpoint(E2B, folderName(), {
      tensors: (all) =>
        all
          .filter(isText)
          .map((tensor) => renamed(tensor, tensor.name.slice('language_model.model.'.length))),
    });
    expect(await codesOf(folder)).toEqual([]);
  });

  it.each([
    ['language_model.model.embed_tokens.weight', 'language_model.model.embed_tokens.embedding.weight'],
    ['language_model.model.layers.1.mlp.up_proj.scales', 'language_model.model.layers.1.mlp.up_proj.scale'],
    ['language_model.model.norm.weight', 'wrapper.language_model.norm.weight'],
  ])('%s is missing: the message has a candidate', async (name, other) => {
    const folder = await rewriteCheckpoint(E2B, folderName(), {
      tensors: (all) => all.map((tensor) => (tensor.name === name ? renamed(tensor, other) : tensor)),
    });
    const { isValid, findings } = await validateCheckpoint(folder);
    expect(isValid).toBe(false);
    const canonical = (text: string) => text.replace('language_model.model.', 'language_model.');
    expect(findings).toContainEqual(
      expect.objectContaining({
        code: 'SIMILAR_NAME',
        subject: `${canonical(other)} for ${canonical(name)}`,
      }),
    );
  });
});

describe('a head', () => {
  const withHead = (isEqual: boolean, isTied: boolean) =>
    rewriteCheckpoint(PLAIN, folderName(), {
      tensors: (all) => {
        const embedding = all.find(({ name }) => name.endsWith('embed_tokens.weight'))!;
        async function* changed() {
          let isFirst = true;
          for await (const bytes of embedding.chunks()) {
            if (isFirst) bytes[1]! ^= 0x80;
            isFirst = false;
            yield bytes;
          }
        }
        const head = renamed(embedding, 'lm_head.weight');
        return [...all, isEqual ? head : { ...head, chunks: changed }];
      },
      config: ({ text_config, ...config }) =>
        json({
          ...config,
          tie_word_embeddings: isTied,
          text_config: { ...(text_config as object), tie_word_embeddings: isTied },
        }),
    });

  it('that differs from a tied embedding is an error, also for a conversion', async () => {
    const folder = await withHead(false, true);
    expect(await codesOf(folder)).toEqual(['error SEPARATE_HEAD']);
    const converting = quantizeCheckpoint(folder, folderName(), { bits: 4, groupSize: 32 });
    await expect(converting).rejects.toMatchObject({ code: 'INVALID_CONFIG', key: 'tie_word_embeddings' });
  });

  it('that is equal is fine, tied or not, and so is a different one that is not tied', async () => {
    expect(await codesOf(await withHead(true, true))).toEqual([]);
    expect(await codesOf(await withHead(true, false))).toEqual([]);
    expect(await codesOf(await withHead(false, false))).toEqual([]);
  });
});

describe('files', () => {
  it('of macOS and of other formats are not weights; one with lost tensors is an error', async () => {
    const side: TensorSource[] = [];
    const folder = await rewriteCheckpoint(E2B, folderName(), {
      tensors: (all) => {
        side.push(...all.filter(({ name }) => name.startsWith('embed_audio.')));
        return all.filter((tensor) => !side.includes(tensor));
      },
    });
    await writeFile(join(folder, '._model.safetensors'), 'Mac OS X');
    await writeFile(join(folder, 'other.safetensors'), 'something else');
    expect(await codesOf(folder)).toEqual(['error INCOMPLETE_TOWER']);
    await writeSafetensors(join(folder, 'audio.safetensors'), side);
    expect(await codesOf(folder)).toEqual(['error INCOMPLETE_TOWER', 'error UNREAD_FILE']);
  });

  it('of several shards: what an index does not say is read or reported', async () => {
    const folder = await rewriteCheckpoint(E2B, folderName(), {});
    const names = (await openCheckpoint(folder)).weights.names();
    const writeIndex = (index: object) =>
      writeFile(join(folder, 'model.safetensors.index.json'), json(index));
    await writeIndex({ metadata: {}, weight_map: {} });
    expect(await codesOf(folder)).toEqual(['warning EMPTY_INDEX']);
    const norm = 'language_model.model.norm.weight';
    await writeIndex({ metadata: { total_size: 5 }, weight_map: { [norm]: 'model.safetensors' } });
    expect(await codesOf(folder)).toEqual(['warning INCOMPLETE_INDEX', 'warning WRONG_TOTAL_SIZE']);
    expect((await openCheckpoint(folder)).weights.names().sort()).toEqual(names.sort());

    await copyFile(join(folder, 'model.safetensors'), join(folder, 'second.safetensors'));
    const weightMap = {
      [norm]: 'second.safetensors',
      'language_model.model.embed_tokens.weight': 'model.safetensors',
    };
    await writeIndex({ weight_map: weightMap });
    const findings = await codesOf(folder);
    expect(findings.filter((code) => code === 'warning STORED_TWICE').length).toBe(names.length);
    expect(findings.filter((code) => code.startsWith('error'))).toEqual([]);
    await writeSafetensors(join(folder, 'second.safetensors'), [
      { name: norm, dtype: 'F32', shape: [1], chunks: () => [new Uint8Array(4)] },
    ]);
    expect(await codesOf(folder)).toContain('error STORED_TWICE');
  });

  it('with several chat templates and no default are reported', async () => {
    const folder = await rewriteCheckpoint(E2B, folderName(), {});
    const named = (...names: string[]) =>
      writeFile(
        join(folder, 'tokenizer_config.json'),
        json({ chat_template: names.map((name) => ({ name, template: name })) }),
      );
    await named('rag', 'tools');
    const { findings } = await openCheckpoint(folder);
    expect(findings.map(({ code }) => code)).toEqual(['TEMPLATE_CHOICE']);
    expect(findings[0]!.message).toContain(
      'the chat templates rag, tools and none named default: rag is used',
    );
    await named('rag', 'default');
    expect((await openCheckpoint(folder)).findings).toEqual([]);
  });

  it('with the infinities of Python are read', async () => {
    const folder = await rewriteCheckpoint(E2B, folderName(), {
      config: ({ audio_config, ...config }) =>
        json({
          ...config,
          note: 'NaN, -Infinity',
          audio_config: { ...(audio_config as object), attention_invalid_logits_value: '#' },
        }).replace('"#"', '-Infinity'),
    });
    const { config } = await openCheckpoint(folder);
    expect(config).toMatchObject({ audio: { invalidLogitsValue: -Infinity } });
  });
});

it('says how to resolve the name of a repository', async () => {
  await expect(openCheckpoint('google/gemma-4-none')).rejects.toThrow(
    "resolveCheckpoint('google/gemma-4-none')",
  );
});
