import { join } from 'node:path';
import { openCheckpoint } from '@markbase/loader';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { fixture, markbase, markbaseJson } from './run-markbase.js';

const EXPECTED = { rows: 192, columns: 64 };

test('quantize applies its rules', async () => {
  const target = join(temporaryFolder(), 'out');
  await markbaseJson([
    'quantize',
    ...[fixture('31b-hf'), target],
    ...['--rule', '**.mlp.down_proj=8:32', '--rule', '**.layers.0.mlp.up_proj=skip'],
  ]);
  const { weights, quantization } = await openCheckpoint(target);
  expect(quantization).toMatchObject({ bits: 4, groupSize: 64 });
  const module = (name: string) => `language_model.layers.${name}`;
  expect(weights.matrix(module('0.mlp.gate_proj'), EXPECTED)).toMatchObject({
    kind: 'affine',
    bits: 4,
    groupSize: 64,
  });
  expect(weights.matrix(module('0.mlp.up_proj'), EXPECTED)).toMatchObject({ kind: 'plain' });
  expect(weights.matrix(module('1.mlp.up_proj'), EXPECTED)).toMatchObject({ kind: 'affine', bits: 4 });
  expect(weights.matrix(module('1.mlp.down_proj'), { rows: 64, columns: 192 })).toMatchObject({
    kind: 'affine',
    bits: 8,
    groupSize: 32,
  });
});

test('quantize writes small floats, and says when a source is quantised already', async () => {
  const [first, second] = [join(temporaryFolder(), 'out'), join(temporaryFolder(), 'out')];
  await markbase(['quantize', fixture('31b-hf'), first, '--mode', 'nvfp4', '--rule', '**.mlp.*=mxfp8']);
  const { weights, quantization } = await openCheckpoint(first);
  expect(quantization).toMatchObject({ mode: 'nvfp4', bits: 4, groupSize: 16 });
  expect(weights.matrix('language_model.layers.0.mlp.up_proj', EXPECTED)).toMatchObject({ kind: 'mxfp8' });
  const { stdout } = await markbase(['quantize', first, second, '--mode', 'mxfp4']);
  expect(stdout).toContain('errors of both add up');
  const again = (await openCheckpoint(second)).weights;
  expect(again.matrix('language_model.layers.0.mlp.up_proj', EXPECTED)).toMatchObject({ kind: 'mxfp4' });
});

test('quantize is silent in a pipe', async () => {
  const target = join(temporaryFolder(), 'out');
  const outcome = await markbase(['quantize', fixture('31b-hf'), target]);
  expect(outcome).toEqual({ status: 0, stdout: expect.stringContaining(target), stderr: '' });
});
