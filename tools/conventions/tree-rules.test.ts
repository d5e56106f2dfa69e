import { expect, it } from 'vitest';
import { sampleRepository } from './repository.mjs';
import { rootLayout } from './root-layout.mjs';
import { treeSize } from './tree-size.mjs';

it('root-layout: accepts the known entries of the root and rejects others', () => {
  const good = {
    'package.json': '',
    '.ci/run': '',
    'packages/text/a': '',
    'apps/playground/a': '',
    'docs/a.md': '',
  };
  expect(rootLayout.check(sampleRepository(good))).toEqual([]);
  const bad = { 'notes.txt': '', 'examples/a.ts': '', 'apps/editor/a.ts': '' };
  expect(rootLayout.check(sampleRepository(bad))).toHaveLength(3);
});

it('tree-size: accepts small data in data folders', () => {
  const repository = sampleRepository({
    'fixtures/a.safetensors': new Uint8Array(9e6),
    'packages/demo-model/model/a.safetensors': new Uint8Array(7e6),
    'docs/images/a.png': new Uint8Array(1e6),
    'packages/text/src/a.ts': 'text',
  });
  expect(treeSize.check(repository)).toEqual([]);
});

it.each([
  ['fixtures beyond 10 MB', { 'fixtures/a': new Uint8Array(10e6) }, 'fixtures/: 10.0 MB'],
  ['a shard beyond 8 MB', { 'packages/demo-model/model/a.safetensors': new Uint8Array(8e6) }, 'shards below'],
  ['a built file', { 'packages/text/a.node': new Uint8Array(16) }, 'a binary file'],
  ['images beyond 2 MB', { 'docs/images/a.png': new Uint8Array(2e6) }, 'docs/images/: 2.0 MB'],
  ['a tree beyond 36 MB', { 'docs/a.md': 'x'.repeat(36e6) }, '.: 36.0 MB'],
])('tree-size: rejects %s', (_, contents, message) => {
  const findings = treeSize.check(sampleRepository(contents as Record<string, string | Uint8Array>));
  expect(findings).toEqual([expect.stringContaining(message)]);
});
