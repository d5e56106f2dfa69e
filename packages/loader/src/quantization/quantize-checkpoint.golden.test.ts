import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFixture } from '../../../../fixtures/locate.js';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { type Checkpoint, openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { dequantizeAffine } from './affine-codec.js';
import { dequantizeFloat } from './float-codec.js';
import { quantizeFloat } from './float-encoder.js';
import { type QuantizeOptions, quantizeCheckpoint } from './quantize-checkpoint.js';
import { readMatrixRows } from './read-matrix-rows.js';

const root = temporaryFolder();

/** The references keep the projectors of kept towers, and do not store the per-layer embedding in 8 bits. */
const KEEP_PROJECTORS = { match: 'embed_*.embedding_projection', skip: true };
const FOUR_BIT_EMBEDDING = { match: '**.embed_tokens_per_layer' };

/** Sources, options, and the digest of the reference conversion of the same source. */
const CASES: readonly [string, QuantizeOptions, string][] = [
  ['31b-hf', { bits: 8, groupSize: 64, rules: [KEEP_PROJECTORS] }, '00aa6285904439f3'],
  ['26b-a4b-hf', { bits: 4, groupSize: 64, rules: [KEEP_PROJECTORS] }, '3850c4320a2a5d3e'],
  ['e2b-hf', { bits: 4, groupSize: 64, rules: [KEEP_PROJECTORS, FOUR_BIT_EMBEDDING] }, '7783b34c49524091'],
  ['e4b-hf', { bits: 4, groupSize: 64, rules: [FOUR_BIT_EMBEDDING], towers: 'quantize' }, 'a5b7e8933d3c5441'],
  ['12b-hf', { bits: 4, groupSize: 32 }, '5a60593162dd5f04'],
];

/** A digest of names, types, shapes and bytes of all tensors. */
async function digest({ weights }: Checkpoint): Promise<string> {
  const hash = createHash('sha256');
  for (const name of weights.names().sort()) {
    const tensor = weights.tensor(name);
    hash.update(`${name} ${tensor.dtype} [${tensor.shape}]\n`).update(await tensor.read());
  }
  return hash.digest('hex').slice(0, 16);
}

describe.each(CASES.filter(([source]) => findFixture(source) !== null))('%s', (source, options, expected) => {
  it('equals the reference conversion in every byte', async () => {
    const target = join(root, source);
    const report = await quantizeCheckpoint(findFixture(source)!, target, {
      ...options,
      maxShardBytes: 300_000,
    });
    const made = await openCheckpoint(target);
    expect(await digest(made)).toBe(expected);
    expect(report.targetBytes).toBe(made.sizeBytes);
    expect((await readdir(target)).filter((name) => name.endsWith('.safetensors')).length).toBeGreaterThan(1);
  });
});

describe('quantizeCheckpoint', () => {
  const source = findFixture('31b-hf')!;
  const options: QuantizeOptions = { bits: 4, groupSize: 64 };

  it('follows the rules, records them in config.json, and keeps the values', async () => {
    const target = join(root, 'rules');
    const rules = [
      { match: 'language_model.model.layers.0.mlp.*', bits: 6, groupSize: 32 },
      { match: '**.layers.1.**', skip: true },
    ];
    const seen: string[] = [];
    let last = { doneBytes: 0, totalBytes: -1 };
    const report = await quantizeCheckpoint(source, target, {
      ...options,
      rules,
      onProgress: ({ tensor, ...bytes }) => {
        seen.push(tensor);
        last = bytes;
      },
    });
    expect(last.doneBytes).toBe(last.totalBytes);
    expect(seen).toContain('language_model.model.layers.0.mlp.up_proj.scales');
    expect(report.plain).toContain('language_model.layers.1.mlp.up_proj');
    expect(report.plain).toContain('vision_tower.encoder.layers.0.mlp.up_proj.linear');
    const json = JSON.parse(await readFile(join(target, 'config.json'), 'utf8'));
    expect(json.quantization).toEqual(json.quantization_config);
    expect(json.quantization).toEqual({
      bits: 4,
      group_size: 64,
      mode: 'affine',
      'language_model.model.layers.0.mlp.down_proj': { bits: 6, group_size: 32 },
      'language_model.model.layers.0.mlp.gate_proj': { bits: 6, group_size: 32 },
      'language_model.model.layers.0.mlp.up_proj': { bits: 6, group_size: 32 },
    });

    const size = { rows: 192, columns: 64 };
    const module = 'language_model.layers.0.mlp.up_proj';
    const matrix = (await openCheckpoint(target)).weights.matrix(module, size);
    expect(matrix).toMatchObject({ kind: 'affine', bits: 6, groupSize: 32 });
    if (matrix.kind !== 'affine') return;
    const parts = {
      weight: new Uint32Array((await matrix.weight.read()).buffer as ArrayBuffer),
      scales: await matrix.scales.read(),
      biases: await matrix.biases.read(),
    };
    const values = dequantizeAffine(parts, size.rows, size.columns, matrix);
    const original = await (await openCheckpoint(source)).weights.tensor(`${module}.weight`).readFloat32();
    const range = Math.max(...original) - Math.min(...original);
    for (let i = 0; i < values.length; i++)
      expect(Math.abs(values[i]! - original[i]!)).toBeLessThan(range / 50);
  });

  it('copies tokenizer and settings', async () => {
    const copy = join(root, 'with-files');
    await quantizeCheckpoint(source, copy, { ...options, rules: [{ match: '**', skip: true }] });
    // Only the config of the result above marks it as quantised; without that it is a source with companion files.
    const json = JSON.parse(await readFile(join(copy, 'config.json'), 'utf8'));
    const config = { ...json, quantization: undefined, quantization_config: undefined };
    await writeFile(join(copy, 'config.json'), JSON.stringify(config));
    await writeFile(join(copy, 'tokenizer.json'), '{"a":1}');
    await writeFile(join(copy, 'chat_template.jinja'), 'template');
    const target = join(root, 'copied');
    const report = await quantizeCheckpoint(copy, target, options);
    expect(report.quantized.length).toBeGreaterThan(40);
    expect(await readFile(join(target, 'tokenizer.json'), 'utf8')).toBe('{"a":1}');
    expect(await readFile(join(target, 'chat_template.jinja'), 'utf8')).toBe('template');
  });

  it('leaves nothing after an abort', async () => {
    const target = join(root, 'aborted');
    const controller = new AbortController();
    const onProgress = ({ doneBytes }: { doneBytes: number }) => {
      if (doneBytes > 200_000) controller.abort();
    };
    await expect(
      quantizeCheckpoint(source, target, { ...options, onProgress, signal: controller.signal }),
    ).rejects.toMatchObject({ name: 'AbortError' });
    expect(await readdir(target)).toEqual([]);
  });

  it.each(['mxfp4', 'mxfp8', 'nvfp4'] as const)(
    'writes %s, with its exceptions in config.json',
    async (mode) => {
      const target = join(root, mode);
      const report = await quantizeCheckpoint(source, target, {
        mode,
        rules: [{ match: '**.layers.0.mlp.down_proj', bits: 8 }],
      });
      expect(report.requantized).toEqual([]);
      const { quantization } = JSON.parse(await readFile(join(target, 'config.json'), 'utf8'));
      expect(quantization).toEqual({
        ...{ mode, bits: mode === 'mxfp8' ? 8 : 4, group_size: mode === 'nvfp4' ? 16 : 32 },
        'language_model.model.layers.0.mlp.down_proj': { mode: 'affine', bits: 8, group_size: 64 },
      });
      const { weights } = await openCheckpoint(target);
      const module = 'language_model.layers.0.mlp.up_proj';
      const matrix = weights.matrix(module, { rows: 192, columns: 64 });
      expect(matrix.kind).toBe(mode);
      const values = await readMatrixRows(matrix, 0, 192);
      const original = await (await openCheckpoint(source)).weights.tensor(`${module}.weight`).readFloat32();
      const expected = quantizeFloat(original, 192, 64, mode);
      expect(await matrix.weight.read()).toEqual(new Uint8Array(expected.weight.buffer));
      expect(values).toEqual(dequantizeFloat(expected, 192, 64, mode));
      expect(weights.warnings()).toEqual([]);
    },
  );

  it('quantises a quantised source again, and copies what is in the wanted format', async () => {
    const quantised = findFixture('12b-mlx-4bit')!;
    const [floats, back] = [join(root, 'requantised'), join(root, 'back')];
    const report = await quantizeCheckpoint(quantised, floats, { mode: 'mxfp8', towers: 'quantize' });
    expect(report.requantized.length).toBeGreaterThan(30);
    expect(report.requantized).toEqual(report.quantized.map(({ module }) => module));
    const module = 'language_model.layers.0.mlp.up_proj';
    const before = (await openCheckpoint(quantised)).weights.stored(module);
    const made = (await openCheckpoint(floats)).weights.stored(module);
    expect(made.kind).toBe('mxfp8');
    const [values, old] = [await readMatrixRows(made, 0, 2), await readMatrixRows(before, 0, 2)];
    for (let i = 0; i < old.length; i++)
      expect(Math.abs(values[i]! - old[i]!)).toBeLessThanOrEqual(Math.max(Math.abs(old[i]!) / 8, 0.002));
    const copied = await quantizeCheckpoint(floats, back, { mode: 'mxfp8', towers: 'quantize' });
    expect(copied.requantized).toEqual([]);
    expect(await digest(await openCheckpoint(back))).toBe(await digest(await openCheckpoint(floats)));
  });

  it('refuses itself as target, and unknown bits', async () => {
    const refused = { code: 'INVALID_ARGUMENT' };
    await expect(quantizeCheckpoint(source, source, options)).rejects.toMatchObject(refused);
    await expect(quantizeCheckpoint(source, join(root, 'x'), { ...options, bits: 7 })).rejects.toMatchObject(
      refused,
    );
  });
});
