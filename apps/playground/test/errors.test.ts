import { copyFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { DEMO_MODEL, fixture, markbase, type Outcome } from './run-markbase.js';

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
  ['a name of another program', ['chat', '--num-ctx', '9'], /unknown option '--num-ctx'.*--context/],
  ['a command of another program', ['remove', 'x'], /unknown command 'remove'.*rm/],
  ['an option like no other', ['doctor', '--xyzzy'], /unknown option '--xyzzy'; see markbase doctor --help/],
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

/** A value that no option can have, and the option that the error names. */
test.each<[command: string, args: string[], message: RegExp]>([
  ['generate', ['--context', '100000000'], /^error: --context: expected a whole number from 2 to 2048/],
  ['generate', ['--context', '8'], /^error: the prompt has 10 tokens, .* or pass a larger --context$/m],
  ['generate', ['--image-tokens', '71', '--image', 'x.png'], /^error: --image-tokens: expected one of 70/],
  ['generate', ['--image', 'none.png'], /^error: --image: cannot read none\.png/],
  ['generate', ['--audio', 'none.wav'], /^error: --audio: cannot open none\.wav/],
  ['generate', ['--video', 'none.mp4'], /^error: --video: cannot read none\.mp4/],
  ['generate', ['--tools', 'none.json'], /^error: --tools: cannot read none\.json/],
  ['generate', ['--repetition-penalty', '0'], /^error: --repetition-penalty: /],
  ['generate', ['--top-p', '0'], /^error: --top-p: /],
  ['generate', ['--stop', ''], /^error: --stop: /],
  ['generate', ['--seed', '9007199254740993'], /'--seed <n>' .* from 0 to 9007199254740991/],
  ['generate', ['--device', 'metal'], /^error: --device: device "metal" is not available/],
  ['serve', ['--name', ''], /'--name <id>' argument '' is invalid/],
  ['serve', ['--name', ' '], /'--name <id>' argument ' ' is invalid/],
  ['serve', ['--host', ''], /'--host <address>' argument '' is invalid/],
  ['serve', ['--host', '192.0.2.1'], /^error: --host: expected an address of this machine/],
  ['serve', ['--allow-origin', 'example.org'], /^error: --allow-origin\[0\]: expected an origin/],
  ['serve', ['--allow-host', 'http://a/'], /^error: --allow-host\[0\]: expected a host name/],
  ['serve', ['--allow-image-host', 'http://a/b'], /^error: --allow-image-host\[0\]: expected host/],
  [
    'bench',
    ['--prompt', '100000'],
    /^error: the longest of --prompt and --depth, .*: expected a whole number/,
  ],
])('%s %j names the option', async (command, args, message) => {
  const prompt = command === 'generate' ? ['--prompt', 'hi'] : [];
  const port = command === 'serve' ? ['--port', '0'] : [];
  const outcome = await markbase([command, '--model', DEMO_MODEL, ...prompt, ...port, ...args]);
  expect([outcome.status, outcome.stdout]).toEqual([1, '']);
  expect(outcome.stderr.trimEnd().split('\n').at(-1)).toMatch(message);
});

test.each([
  ['generate', ['--prompt', 'hi', '--model', '/no/model'], /^error: --model: .*\/no\/model/],
  ['doctor', ['--model', '/no/model'], /^error: --model: .*\/no\/model/],
  [
    'synth',
    ['--variant', 'e2b', '--tiny', '--out', '/dev/null'],
    /^error: --out: cannot create the folder \/dev\/null/,
  ],
  ['quantize', [fixture('31b-hf'), fixture('31b-hf')], /^error: <target>: expected a folder other/],
  [
    'quantize',
    [fixture('31b-hf'), fixture('e2b-mlx-4bit')],
    /^error: <target>: expected a new or empty folder/,
  ],
  ['schema', ['/no/schema.json'], /^error: cannot read \/no\/schema\.json: no such file or folder/],
])('%s %j names what is wrong', async (command, args, message) => {
  expectUserError(await markbase([command, ...args]), message);
});

test.each(['MARKBASE_CPU_ISA', 'MARKBASE_CONFIG'])('a wrong %s is named', async (name) => {
  const args = ['generate', '--model', DEMO_MODEL, '--prompt', 'hi'];
  const outcome = await markbase(args, { env: { [name]: '/no/such' } });
  expectUserError(outcome, new RegExp(`^error: ${name}: expected`));
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
