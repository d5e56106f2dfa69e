import { copyFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { fixture, markbase, type Outcome } from './run-markbase.js';

/** A user error: exit 1, nothing on standard output, a one-line message, no stack trace. */
function expectUserError(outcome: Outcome, message: RegExp): void {
  expect(outcome).toMatchObject({ status: 1, stdout: '' });
  expect(outcome.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(outcome.stderr).toMatch(message);
  expect(outcome.stderr).toMatch(/^error: /);
}

test.each([
  ['an unknown command', ['generat'], /unknown command 'generat'.*generate/],
  ['an unknown option', ['doctor', '--jsn'], /unknown option '--jsn'.*--json/],
  ['a missing option', ['synth', '--variant', 'e2b'], /'--out <dir>' not specified/],
  [
    'a wrong choice',
    ['synth', '--variant', 'e3b', '--out', 'x'],
    /'e3b' is invalid.*e2b, e4b, 12b, 26b-a4b, 31b/,
  ],
  [
    'a word instead of a number',
    ['synth', '--variant', 'e2b', '--out', 'x', '--seed', 'one'],
    /'one' is invalid/,
  ],
  [
    'a number out of range',
    ['synth', '--variant', 'e2b', '--out', 'x', '--layers', '0'],
    /at least 1|from 1 to/,
  ],
  ['a missing folder', ['inspect', '/no/such/folder'], /\/no\/such\/folder: the folder does not exist/],
  ['a missing file', ['inspect', '/no/such/file.safetensors'], /\/no\/such\/file\.safetensors/],
  ['an invalid rule', ['quantize', 'a', 'b', '--rule', '*=7'], /--rule: expected glob=bits.*\*=7/],
  [
    'a folder that cannot be created',
    ['synth', '--variant', 'e2b', '--tiny', '--out', '/dev/null/x'],
    /\/dev\/null/,
  ],
])('%s', async (_, args, message) => {
  expectUserError(await markbase(args), message);
});

test('a truncated file', async () => {
  const path = join(temporaryFolder(), 'model.safetensors');
  await copyFile(join(fixture('31b-hf'), 'model.safetensors'), path);
  await truncate(path, 100_000);
  expectUserError(await markbase(['inspect', path]), /model\.safetensors/);
});

test('a file that is not a checkpoint', async () => {
  const path = join(temporaryFolder(), 'notes.txt');
  await writeFile(path, 'notes');
  expectUserError(await markbase(['inspect', path]), /neither a checkpoint folder nor a \.safetensors file/);
});

test('synth does not touch files in the folder', async () => {
  const folder = temporaryFolder();
  await writeFile(join(folder, 'notes.txt'), 'notes');
  expectUserError(
    await markbase(['synth', '--variant', 'e2b', '--tiny', '--out', folder]),
    /--out: expected a new or empty folder.*notes\.txt/,
  );
});
