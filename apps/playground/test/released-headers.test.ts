import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { AudioModel } from '@markbase/audio';
import { openCheckpoint, planFile, validateCheckpoint } from '@markbase/loader';
import { openDevice } from '@markbase/metal-runtime';
import { TextModel } from '@markbase/text';
import { VisionModel } from '@markbase/vision';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { planCheckpoint } from '../src/synth/plan-checkpoint.js';
import { textShape, VARIANT_NAMES, type VariantName } from '../src/synth/shape.js';
import { writeSparseCheckpoint } from '../src/synth/write-checkpoint.js';
import { markbase } from './run-markbase.js';

const LENGTH_BYTES = 8;
const plan = (variant: VariantName) => planCheckpoint(textShape(variant), null, 1, 'hf');

/** Number of tensors by the first module below `model`. */
function counts(variant: VariantName): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { name } of plan(variant).tensors) {
    const module = name.split('.')[1]!;
    found[module] = (found[module] ?? 0) + 1;
  }
  return found;
}

test('the header of google/gemma-4-E2B-it is rebuilt byte for byte', () => {
  const { tensors, metadata } = plan('e2b');
  const { header, totalBytes } = planFile(tensors, metadata);
  const text = header.subarray(LENGTH_BYTES);
  expect([tensors.length, text.length, totalBytes - header.length]).toEqual([2011, 263_952, 10_246_357_958]);
  // Of the file at revision 9dbdf8a839e4e9e0eb56ed80cc8886661d3817cf.
  expect(createHash('sha256').update(text).digest('hex')).toBe(
    '12740d6fe7a66b316040fa4d77471a8e1809498a71992b3364a6d5417d10662e',
  );
  expect(counts('e2b')).toEqual({
    language_model: 600,
    vision_tower: 658,
    audio_tower: 751,
    embed_vision: 1,
    embed_audio: 1,
  });
});

test.each([
  // What llama.cpp's loader counts: animehacker/llama-turboquant#3, ggml-org/llama.cpp#21328, mudler/LocalAI#9240 and
  // ggml-org/llama.cpp#21760. No public count of 12B was found.
  ['e2b', 601],
  ['e4b', 720],
  ['26b-a4b', 658],
  ['31b', 833],
] as const)(
  'the decoder of %s has the %i tensors of its GGUF files, except for a table of frequencies',
  (variant, count) => {
    expect(counts(variant).language_model).toBe(count - 1);
  },
);

test('text, vision and audio load a checkpoint with this header', async () => {
  const folder = temporaryFolder();
  await writeSparseCheckpoint(folder, plan('e2b'));
  const checkpoint = await openCheckpoint(folder);
  expect(checkpoint.absent).toEqual({ vision: null, audio: null });
  using device = await openDevice({ kind: 'cpu', threads: 1 });
  using text = await TextModel.load(checkpoint, device, { contextTokens: 16, prefillChunk: 16 });
  using vision = await VisionModel.load(checkpoint, device);
  using audio = await AudioModel.load(checkpoint, device);
  expect([text.config.hiddenWidth, vision.config.kind, audio.device]).toEqual([1536, 'tower', device]);
  await rm(folder, { recursive: true });
});

test.each(VARIANT_NAMES)('a tiny %s in the released layout is valid', async (variant) => {
  const folder = temporaryFolder();
  const { status, stderr } = await markbase([
    'synth',
    '--tiny',
    '--layout',
    'hf',
    '--variant',
    variant,
    '--out',
    folder,
  ]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const { isValid, findings } = await validateCheckpoint(folder);
  expect({ isValid, codes: findings.map(({ code }) => code) }).toEqual({
    isValid: true,
    codes: ['NO_TOKENIZER'],
  });
});

test('the released layout is not quantised', async () => {
  const args = [
    'synth',
    '--tiny',
    '--layout',
    'hf',
    '--variant',
    'e2b',
    '--bits',
    '4',
    '--out',
    temporaryFolder(),
  ];
  expect(await markbase(args)).toMatchObject({ status: 1, stderr: expect.stringContaining('--bits') });
});
