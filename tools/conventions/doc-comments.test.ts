import { expect, it } from 'vitest';
import { docComments } from './doc-comments.mjs';
import { sampleRepository } from './repository.mjs';

const documented = `
/** What it is. */
export interface Matrix {}

/**
 * What it does.
 */
export async function load(a: string): Promise<void>;
export async function load(a: number): Promise<void>;
export { helper } from './helper.js';
`;

it('accepts documented exports, overloads and re-exports', () => {
  expect(docComments.check(sampleRepository({ 'packages/text/src/a.ts': documented }))).toEqual([]);
});

it('rejects undocumented exports, in sources only', () => {
  const source = '// Not a doc comment.\nexport const LIMIT = 4;\n\nexport abstract class Model {}\n';
  const repository = sampleRepository({
    'packages/text/src/a.ts': source,
    'packages/text/src/a.test.ts': source,
    'apps/playground/src/a.ts': source,
  });
  expect(docComments.check(repository)).toEqual([
    'packages/text/src/a.ts:2: LIMIT has no doc comment',
    'packages/text/src/a.ts:4: Model has no doc comment',
  ]);
});
