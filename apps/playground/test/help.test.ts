import { expect, test } from 'vitest';
import { markbase } from './run-markbase.js';

const COMMANDS = {
  run: ['--image', '--schema', '--temperature', '--json'],
  chat: ['--model', '--system', '--no-history'],
  list: ['--json'],
  pull: ['--revision', '--json'],
  rm: ['--yes', '--json'],
  ps: ['--json'],
  generate: [
    '--schema',
    '--json-object',
    '--model',
    '--prompt',
    '--system',
    '--raw',
    '--tools',
    '--image',
    '--audio',
    '--max-tokens',
    '--seed',
    '--json',
  ],
  transcribe: ['--model', '--prompt', '--max-seconds', '--truncated', '--json'],
  verify: ['--device', '--precision', '--json'],
  bench: [
    '--model',
    '--prompt',
    '--generate',
    '--batch',
    '--reps',
    '--plan',
    '--variant',
    '--rows',
    '--json',
  ],
  inspect: ['--tensors', '--json'],
  synth: ['--variant', '--mode', '--bits', '--out', '--seed', '--tiny', '--layers', '--group-size', '--json'],
  quantize: ['--mode', '--bits', '--group-size', '--rule', '--towers', '--json'],
  schema: ['--accepts', '--json'],
  doctor: ['--adapter', '--json', '--model'],
};

test('the overview names every command', async () => {
  const { status, stdout, stderr } = await markbase(['--help']);
  expect(status).toBe(0);
  expect(stderr).toBe('');
  for (const name of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`^ {2}${name}`, 'm'));
});

test.each(Object.entries(COMMANDS))('%s --help names its options', async (name, options) => {
  const { status, stdout, stderr } = await markbase([name, '--help']);
  expect(status).toBe(0);
  expect(stderr).toBe('');
  for (const option of options) expect(stdout).toContain(option);
});
