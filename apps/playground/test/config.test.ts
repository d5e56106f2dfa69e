import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { fixture, markbase, markbaseJson } from './run-markbase.js';

async function config(value: unknown): Promise<Record<string, string>> {
  const path = join(temporaryFolder(), 'config.json');
  await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value));
  return { MARKBASE_CONFIG: path };
}

it('uses options from the file; the command line takes precedence, then the section of the command, then the defaults', async () => {
  const folder = temporaryFolder();
  const env = await config({
    defaults: { variant: 'e4b', tiny: true },
    synth: { variant: '12b', out: join(folder, 'a') },
  });
  expect(await markbaseJson(['synth'], env)).toMatchObject({ variant: '12b' });
  expect(await markbaseJson(['synth', '--variant', 'e2b', '--out', join(folder, 'b')], env)).toMatchObject({
    variant: 'e2b',
  });
});

it('shows the file in use', async () => {
  const env = await config({ chat: { system: 'Be brief.' } });
  expect(await markbaseJson(['config'], env)).toMatchObject({
    path: env.MARKBASE_CONFIG,
    sections: { chat: { system: 'Be brief.' } },
  });
});

it.each([
  ['{', 'JSON'],
  [[], 'an object with a section'],
  [{ chatt: {} }, 'the name of a command'],
  [{ chat: { colour: 'red' } }, 'chat.colour must be an option'],
  [{ defaults: { precision: 'best' } }, 'defaults.precision'],
  [{ chat: { thinking: 'yes' } }, 'true or false'],
  [{ chat: { temperature: [1, 2] } }, 'a single value'],
  [{ chat: { 'top-p': 7 } }, 'chat.top-p'],
])('reports errors in %j', async (value, message) => {
  const { status, stderr } = await markbase(['inspect', fixture('e2b-mlx-4bit')], {
    env: await config(value),
  });
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining(message) });
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

it('reports that the file named by MARKBASE_CONFIG is missing', async () => {
  const { status, stderr } = await markbase(['doctor'], { env: { MARKBASE_CONFIG: '/no/such.json' } });
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('/no/such.json') });
});
