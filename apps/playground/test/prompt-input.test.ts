import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { CLI, DEMO_MODEL, environment, hasDemoModel, markbase, markbaseJson } from './run-markbase.js';

const SCENE = join(DEMO_MODEL, '..', 'held-out', 'scenes', '03.png');
const SURE = '--temperature 0 --max-tokens 60';

/** Runs a line of a shell in which `markbase` is the built command. */
function shell(line: string): Promise<{ status: number; stdout: string; stderr: string }> {
  const script = `markbase() { "${process.execPath}" "${CLI}" "$@"; }; ${line}`;
  return new Promise((resolve) => {
    execFile(
      'bash',
      ['-c', script],
      { env: environment({ MARKBASE_CONFIG: '' }) },
      (error, stdout, stderr) => {
        resolve({ status: error ? Number(error.code) : 0, stdout, stderr });
      },
    );
  });
}

describe.skipIf(!hasDemoModel)('with the demo model as the default', () => {
  it.each([
    ['the prompt', `echo 'What is 31 + 90?' | markbase generate ${SURE}`],
    ['appended to it', `echo '90?' | markbase run demo ${SURE} What is 31 +`],
    ['named by -', `markbase generate --prompt - ${SURE} < <(echo 'What is 31 + 90?')`],
  ])('standard input is %s', async (_, line) => {
    expect(await shell(line)).toEqual({ status: 0, stdout: '31 + 90 = 121\n', stderr: '' });
  });

  it('does not wait for a pipe that stays silent if there is a prompt', async () => {
    const { status, stdout, stderr } = await shell(
      `markbase generate --prompt 'What is 31 + 90?' ${SURE} < <(exec sleep 30 2>/dev/null)`,
    );
    expect({ status, stdout }).toEqual({ status: 0, stdout: '31 + 90 = 121\n' });
    expect(stderr).toMatch(/^nothing came on standard input/);
  });

  it('reads pictures from standard input and from a URL', async () => {
    const picture = await readFile(SCENE);
    const server = createServer((_, response) => response.end(picture));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/scene.png`;
    const ask = ['generate', '--prompt', 'Describe the image.', '--temperature', '0', '--max-tokens', '60'];
    const { text } = await markbaseJson<{ text: string }>([...ask, '--image', url]);
    expect(text).toMatch(/cone|cube/);
    const piped = await shell(`markbase run demo --image - 'Describe the image.' ${SURE} < '${SCENE}'`);
    expect(piped).toEqual({ status: 0, stdout: `${text}\n`, stderr: '' });
  });

  it('answers in the form of a schema', async () => {
    const schema = join(temporaryFolder(), 'schema.json');
    const properties = { a: { type: 'integer' } };
    await writeFile(
      schema,
      JSON.stringify({ type: 'object', properties, required: ['a'], additionalProperties: false }),
    );
    const ask = ['generate', '--prompt', 'Hi', '--temperature', '0', '--max-tokens', '40'];
    const { text } = await markbaseJson<{ text: string }>([...ask, '--schema', schema]);
    expect(JSON.parse(text)).toEqual({ a: expect.any(Number) });
    expect(JSON.parse((await markbase([...ask, '--json-object'])).stdout)).toBeTypeOf('object');
    await writeFile(schema, JSON.stringify({ $ref: '#/none' }));
    expect(await markbase([...ask, '--schema', schema])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: --schema/),
    });
  });
});

it('says what is missing, and what cannot be a prompt', async () => {
  expect(await markbase(['generate'])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^error: --prompt: expected a prompt, as an argument or on standard input/),
  });
  expect(await shell(`printf '\\xff\\xfe\\x00' | markbase run demo`)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('--image -'),
  });
});

it('says what to do next if there are no arguments', async () => {
  const { status, stdout, stderr } = await markbase([]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const command of ['run', 'pull', 'playground', '--help'])
    expect(stdout).toContain(`markbase ${command}`);
});
