import { expect, it } from 'vitest';
import { sampleRepository } from './repository.mjs';
import { typedErrors } from './typed-errors.mjs';

it('rejects bare errors in packages, with their line', () => {
  const source = `// new Error('in a comment')\n\nthrow new Error('broken');\nthrow new RangeError('far');\n`;
  expect(typedErrors.check(sampleRepository({ 'packages/text/src/a.ts': source }))).toEqual([
    expect.stringContaining('packages/text/src/a.ts:3: new Error('),
    expect.stringContaining('packages/text/src/a.ts:4: new RangeError('),
  ]);
});

it('accepts classes of our own, and any error in tests and tools', () => {
  const repository = sampleRepository({
    'packages/text/src/a.ts': `throw new ShapeMismatchError({});\nthrow new DOMException('', 'AbortError');\n`,
    'packages/text/src/a.test.ts': `throw new Error('x');\n`,
    'tools/a.mjs': `throw new Error('x');\n`,
  });
  expect(typedErrors.check(repository)).toEqual([]);
});
