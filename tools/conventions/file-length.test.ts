import { expect, it } from 'vitest';
import { fileLength } from './file-length.mjs';
import { sampleRepository } from './repository.mjs';

const lines = (count: number, first = 'x') => `${[first, ...Array(count - 1).fill('x')].join('\n')}\n`;

it('accepts files up to the limit, and longer ones with a reason', () => {
  const repository = sampleRepository({
    'packages/text/src/a.ts': lines(400),
    'packages/metal-runtime/kernels/a.metal': lines(500),
    'packages/text/src/b.ts': lines(900, '// Long because the table of the Unicode standard is one table.'),
    'docs/long.md': lines(900),
  });
  expect(fileLength.check(repository)).toEqual([]);
});

it('rejects longer files', () => {
  const repository = sampleRepository({ 'packages/text/src/a.ts': lines(401), 'tools/b.mjs': lines(401) });
  expect(fileLength.check(repository)).toEqual([
    expect.stringContaining('packages/text/src/a.ts: 401 lines'),
    expect.stringContaining('tools/b.mjs: 401 lines'),
  ]);
});
