import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { importCircles } from './import-circles.mjs';
import { sampleRepository } from './repository.mjs';
import { unusedExports } from './unused-exports.mjs';

const CIRCLES = 'tools/conventions/circles.biome.json';
/** Files that the programs need: a workspace with this one's configuration. */
const WORKSPACE = {
  [CIRCLES]: readFileSync(CIRCLES, 'utf8'),
  'package.json': JSON.stringify({ name: 'sample', workspaces: ['packages/*'] }),
  'packages/core/package.json': JSON.stringify({ name: 'core', type: 'module', exports: './src/index.ts' }),
};

let root: string | undefined;
afterEach(() => {
  if (root !== undefined) rmSync(root, { recursive: true });
});

/** A checkout on disk, because these rules run programs on it. */
function checkout(contents: Record<string, string>) {
  root = mkdtempSync(path.join(tmpdir(), 'markbase-conventions-'));
  for (const [file, text] of Object.entries({ ...WORKSPACE, ...contents })) {
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  return { ...sampleRepository(contents), root };
}

it('import-circles: finds a circle of three files, one of whose imports is a type', () => {
  const repository = checkout({
    'packages/core/src/index.ts': `export * from './a.js';\n`,
    'packages/core/src/a.ts': `import { b } from './b.js';\nexport interface A { b: typeof b }\n`,
    'packages/core/src/b.ts': `import { c } from './c.js';\nexport const b = c;\n`,
    'packages/core/src/c.ts': `import type { A } from './a.js';\nexport const c: A | null = null;\n`,
  });
  expect(importCircles.check(repository).sort()).toEqual([
    expect.stringContaining('packages/core/src/a.ts:1: '),
    expect.stringContaining('packages/core/src/b.ts:1: '),
    expect.stringContaining('packages/core/src/c.ts:1: '),
  ]);
});

it('import-circles: accepts two paths to one file', () => {
  const repository = checkout({
    'packages/core/src/index.ts': `export * from './a.js';\nexport * from './b.js';\n`,
    'packages/core/src/a.ts': `import { b } from './b.js';\nexport const a = b;\n`,
    'packages/core/src/b.ts': 'export const b = 1;\n',
  });
  expect(importCircles.check(repository)).toEqual([]);
});

it('unused-exports: finds values, types and files that nothing imports', () => {
  const repository = checkout({
    'packages/core/src/index.ts': `export { used } from './a.js';\n`,
    'packages/core/src/a.ts': [
      'export const used = 1;',
      'export const idle = 2;',
      'export interface Idle { idle: number }',
      '',
    ].join('\n'),
    'packages/core/src/alone.ts': 'export const alone = 1;\n',
  });
  expect(unusedExports.check(repository).sort()).toEqual([
    expect.stringContaining('packages/core/src/a.ts:2: nothing imports idle'),
    expect.stringContaining('packages/core/src/a.ts:3: nothing imports Idle'),
    expect.stringContaining('packages/core/src/alone.ts: nothing imports this file'),
  ]);
});

it('unused-exports: accepts exports marked @public, and types that an export of their file mentions', () => {
  const repository = checkout({
    'packages/core/src/index.ts': `export { open } from './a.js';\n`,
    'packages/core/src/a.ts': [
      'export interface Options { path: string }',
      'export const open = (options: Options) => options.path;',
      '/** @public Loaded by name. */',
      'export const loaded = 1;',
      '',
    ].join('\n'),
  });
  expect(unusedExports.check(repository)).toEqual([]);
});
