// Compares with the reference reader itself: `node fuzz/compare.mjs --python python3 [--count 200000] [--seed 1]`, with
// the package `safetensors` installed for that Python. Exit code 0: the loader accepts nothing that the reference refuses.

import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { instrument } from './instrument.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const { values } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    count: { type: 'string', default: '200000' },
    seed: { type: 'string', default: '1' },
    fixtures: { type: 'string', default: join(root, '../../fixtures') },
  },
});
const build = join(root, 'fuzz/build/compare');
mkdirSync(build, { recursive: true });
const { entry } = instrument(root, join(root, 'fuzz/write-cases.ts'), build, () => false);
const { writeCases } = await import(pathToFileURL(entry).href);
const cases = join(build, 'cases.bin');
await writeCases(cases, Number(values.count), Number(values.seed), values.fixtures);
const { status } = spawnSync(values.python, [join(root, 'fuzz/compare.py'), cases], { stdio: 'inherit' });
process.exit(status ?? 1);
