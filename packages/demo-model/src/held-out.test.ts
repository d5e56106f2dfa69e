import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { modelPath, moeModelPath } from './index.js';

const measure = fileURLToPath(new URL('../../../tools/demo-model/measure.mjs', import.meta.url));
const prompts = fileURLToPath(new URL('../held-out.json', import.meta.url));

it.each([
  ['dense model', modelPath],
  ['mixture of experts', moeModelPath],
])('the %s answers all twenty held-out prompts, run by our own engine on the CPU', async (_, path) => {
  const { stdout } = await promisify(execFile)(process.execPath, [measure, path, prompts, 'fast']).catch(
    (failure: { stdout: string; stderr: string }) => ({ stdout: `${failure.stdout}${failure.stderr}` }),
  );
  expect(stdout.trim().split('\n')).toEqual([
    'arithmetic: 5 of 5 right (100.0 %)',
    'json: 4 of 4 right (100.0 %)',
    'tools: 4 of 4 right (100.0 %)',
    'talk: 4 of 4 right (100.0 %)',
    'story: 3 of 3 right (100.0 %)',
  ]);
});
