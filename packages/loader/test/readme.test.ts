import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { startHub } from '../../../fixtures/hub-server.js';
import { fixture } from '../../../fixtures/locate.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import * as loader from '../src/index.js';

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), '..');
const SITE = join(PACKAGE, '../../docs/site/packages/loader.md');
/** What users read about this package: its page at npm, and the one of the site. */
const readme = `${await readFile(join(PACKAGE, 'README.md'), 'utf8')}\n${await readFile(SITE, 'utf8')}`;
const examples = (await readdir(join(PACKAGE, 'examples'))).filter((name) => name.endsWith('.ts'));

describe('the README and the page of the site', () => {
  it('shows the examples unchanged', async () => {
    const blocks = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
    const files = await Promise.all(
      examples.map((name) => readFile(join(PACKAGE, 'examples', name), 'utf8')),
    );
    expect([...blocks].sort()).toEqual([...files].sort());
  });

  it('names nothing that is not exported', () => {
    const functions = [...readme.matchAll(/^\| (`\w+[^|]*) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`([a-z]\w+)(?:\(|`)/g)].map(([, name]) => name!),
    );
    expect(functions.length).toBeGreaterThan(20);
    const unknown = functions.filter((name) => !(name in loader));
    expect(unknown).toEqual([]);
  });

  it('has the same limits as the code', () => {
    const exported = new Map<string, unknown>(Object.entries(loader));
    for (const [, name, value] of readme.matchAll(/^\| `(MAX_\w+)` \| ([\d,]+) \|/gm)) {
      expect([name, exported.get(name!)]).toEqual([name, Number(value!.replaceAll(',', ''))]);
    }
  });
});

describe('API.md', () => {
  it('is written when the package is packed, and has every export', async () => {
    execFileSync(process.execPath, ['scripts/api-reference.mjs'], { cwd: PACKAGE });
    const reference = await readFile(join(PACKAGE, 'API.md'), 'utf8');
    const headings = new Set([...reference.matchAll(/^### (\w+)$/gm)].map(([, name]) => name));
    expect(Object.keys(loader).filter((name) => !headings.has(name))).toEqual([]);
  });
});

describe('the examples', async () => {
  const root = temporaryFolder();
  const before = process.cwd();
  await mkdir(join(root, 'models'));
  await symlink(fixture('e2b-mlx-4bit'), join(root, 'models/gemma-4-e2b-it-4bit'));
  await symlink(fixture('31b-hf'), join(root, 'models/gemma-4-e2b-it'));
  const file = (name: string) => readFile(join(fixture('e2b-mlx-4bit'), name));
  const hub = await startHub(
    { 'config.json': await file('config.json'), 'model.safetensors': await file('model.safetensors') },
    'google/gemma-4-e2b-it',
  );
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
  vi.stubEnv('HF_HUB_CACHE', join(root, 'cache'));
  vi.stubEnv('HF_TOKEN', '');
  process.chdir(root);
  afterAll(() => {
    process.chdir(before);
    vi.unstubAllEnvs();
  });

  // The output of each one shows that it did its work.
  it.each([
    ['open', 'affine'],
    ['estimate', '527'],
    ['download', 'gemma4'],
    ['convert', 'matrices quantised'],
  ])('%s runs', async (name, part) => {
    expect(examples).toContain(`${name}.ts`);
    const printed: string[] = [];
    const log = vi
      .spyOn(console, 'log')
      .mockImplementation((...values) => void printed.push(values.join(' ')));
    const error = vi
      .spyOn(console, 'error')
      .mockImplementation((...values) => void printed.push(values.join(' ')));
    const progress = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      await import(join(PACKAGE, 'examples', `${name}.ts`));
    } finally {
      for (const spy of [log, error, progress]) spy.mockRestore();
    }
    expect(printed.join('\n')).toContain(part);
  });
});
