import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openCheckpoint, readMatrixRows } from '@markbase/loader';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { textShape, VARIANT_NAMES } from '../src/synth/shape.js';
import { markbase, markbaseJson } from './run-markbase.js';

interface Inspection {
  variant: string;
  isReleasedSize: boolean;
  sizeBytes: number;
  quantization: { bits: number; groupSize: number } | null;
  layers: { kind: string; kvSource: number | null; intermediateSize: number; keyIsValue: boolean }[];
  modules: { kind: string; bits: number | null; groupSize: number | null }[];
}

async function synthTiny(...args: string[]): Promise<string> {
  const folder = temporaryFolder();
  const { status, stderr } = await markbase(['synth', '--tiny', '--out', folder, ...args]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return folder;
}

test.each(VARIANT_NAMES)('a tiny %s has the structure of the variant', async (variant) => {
  const folder = await synthTiny('--variant', variant);
  const report = await markbaseJson<Inspection>(['inspect', folder]);
  expect(report).toMatchObject({ variant, isReleasedSize: false, quantization: { bits: 4, groupSize: 64 } });
  expect(report.layers.at(-1)?.kind).toBe('full');
  const sharing = report.layers.filter((layer) => layer.kvSource !== null);
  expect(sharing.length > 0).toBe(variant === 'e2b' || variant === 'e4b');
  expect(report.modules.some((module) => module.kind.includes('switch_glu'))).toBe(variant === '26b-a4b');
});

test('what a killed run left in the folder is replaced', async () => {
  const folder = temporaryFolder();
  // Files that are not complete are hidden.
  for (const name of ['.markbase-synth-unfinished', '.model.safetensors.0123456789ab.tmp', 'config.json'])
    await writeFile(join(folder, name), 'part');
  const { status, stderr } = await markbase(['synth', '--tiny', '--variant', 'e2b', '--out', folder]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect((await readdir(folder)).sort()).toEqual((await readdir(await synthTiny('--variant', 'e2b'))).sort());
});

test('matrices have the standard deviation that keeps activations near 1', async () => {
  const { weights } = await openCheckpoint(await synthTiny('--variant', '31b', '--bits', '16'));
  const values = await weights.tensor('language_model.layers.0.mlp.down_proj.weight').readFloat32();
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  // With 128 · 256 samples, both estimates scatter by less than one percent of 1/sqrt(256).
  expect(mean).toBeCloseTo(0, 2);
  expect(Math.sqrt(variance)).toBeCloseTo(1 / 16, 2);
});

test('codes, scales and biases match', async () => {
  const { weights } = await openCheckpoint(await synthTiny('--variant', 'e4b', '--bits', '8'));
  const scales = await weights.tensor('language_model.layers.3.mlp.up_proj.scales').readFloat32();
  const biases = await weights.tensor('language_model.layers.3.mlp.up_proj.biases').readFloat32();
  for (const [index, scale] of scales.entries()) {
    // The codes 0 to 255 are centred: bias = -127.5 · scale, both rounded to bfloat16.
    expect(Math.abs((biases[index] ?? 0) / (-127.5 * scale) - 1)).toBeLessThan(0.01);
  }
  expect(scales.some((scale) => scale < 0) && scales.some((scale) => scale > 0)).toBe(true);
});

test('the same seed yields the same bytes, and another seed different ones', async () => {
  const folders = await Promise.all(
    ['7', '7', '8'].map((seed) => synthTiny('--variant', 'e2b', '--seed', seed)),
  );
  const [first, again, other] = await Promise.all(
    folders.map((folder) => readFile(join(folder, 'model.safetensors'))),
  );
  expect(first?.equals(again ?? Buffer.alloc(0))).toBe(true);
  expect(first?.equals(other ?? Buffer.alloc(0))).toBe(false);
});

test('a width that is not a multiple of the group size gets smaller groups', async () => {
  const folder = await synthTiny('--variant', '26b-a4b', '--group-size', '128', '--layers', '6');
  const report = await markbaseJson<Inspection>(['inspect', folder]);
  const groups = new Map(report.modules.map((module) => [module.kind, module.groupSize]));
  expect(report.layers).toHaveLength(6);
  expect(groups.get('language_model.layers.#.mlp.up_proj')).toBe(128);
  // The experts of the tiny shape have width 64.
  expect(groups.get('language_model.layers.#.experts.switch_glu.down_proj')).toBe(64);
});

test.each(['mxfp4', 'mxfp8', 'nvfp4'])('%s has the standard deviation, is valid, and runs', async (mode) => {
  const folder = await synthTiny('--variant', '26b-a4b', '--layers', '6', '--mode', mode);
  const report = await markbaseJson<{ isValid: boolean; findings: unknown[] }>(['inspect', folder, '--json']);
  expect(report).toMatchObject({ quantization: { mode } });
  const { weights } = await openCheckpoint(folder);
  const at = 'language_model.layers.0';
  const matrix = weights.matrix(`${at}.mlp.up_proj`, { rows: 256, columns: 128 });
  expect(matrix.kind).toBe(mode);
  const values = await readMatrixRows(matrix, 0, matrix.rows);
  const variance = values.reduce((sum, value) => sum + value ** 2, 0) / values.length;
  // Scales are powers of two, or have four significant bits.
  expect(Math.sqrt(variance) * Math.sqrt(matrix.columns)).toBeGreaterThan(0.65);
  expect(Math.sqrt(variance) * Math.sqrt(matrix.columns)).toBeLessThan(1.5);
  expect(weights.stored(`${at}.router.proj`)).toMatchObject({ kind: 'affine', bits: 8 });
  const run = ['--prompt', '8', '--generate', '3', '--reps', '1'];
  const { bytesPerToken } = await markbaseJson<{ bytesPerToken: number }>([
    'bench',
    '--model',
    folder,
    ...run,
  ]);
  expect(bytesPerToken).toBeGreaterThan(0);
});

test.each([
  ['e2b', 20, 15],
  ['e4b', 18, 24],
  ['31b', 0, 60],
] as const)('%s shares the keys and values of %i layers, and %i own theirs', (variant, shared, owning) => {
  const shape = textShape(variant);
  expect(shape.sharedKvLayerCount).toBe(shared);
  expect(shape.layerCount - shape.sharedKvLayerCount).toBe(owning);
});
