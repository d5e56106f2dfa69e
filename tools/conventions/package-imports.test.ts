import { describe, expect, it } from 'vitest';
import { importsOf, packageImports } from './package-imports.mjs';
import { sampleRepository } from './repository.mjs';

const text = {
  'packages/text/package.json': JSON.stringify({
    name: '@markbase/text',
    dependencies: { '@markbase/core': 'workspace:*', '@markbase/loader': 'workspace:*', jinja: '1.0.0' },
    devDependencies: { tokenizers: '1.0.0', '@markbase/demo-model': 'workspace:*' },
  }),
};

function check(file: string, source: string): string[] {
  return packageImports.check(sampleRepository({ ...text, [file]: source }));
}

describe('package-imports', () => {
  it('accepts declared packages of lower layers, own files and Node', () => {
    const source = `
      import { readFile } from 'node:fs/promises';
      import type { Checkpoint } from '@markbase/loader';
      import { Template } from 'jinja/template';
      export { decode } from '../tokenizer/decode.js';
      // import { Router } from '@markbase/moe';
    `;
    expect(check('packages/text/src/model/text-model.ts', source)).toEqual([]);
  });

  it('lets tests import development dependencies, the packaged checkpoint and fixtures', () => {
    const source = `
      import { it } from 'vitest';
      import { demoModel } from '@markbase/demo-model';
      import { Tokenizer } from 'tokenizers';
      import { locateFixture } from '../../../fixtures/locate.js';
    `;
    expect(check('packages/text/src/text-model.test.ts', source)).toEqual([]);
    expect(check('packages/text/src/text-model.ts', source)).toHaveLength(4);
  });

  it.each([
    ['a sibling model package', `import { route } from '@markbase/moe';`, 'may not import @markbase/moe'],
    ['a sibling, lazily', `const moe = await import('@markbase/moe');`, 'may not import @markbase/moe'],
    ['a package above', `export * from '@markbase/playground';`, 'may not import @markbase/playground'],
    [
      'an undeclared package',
      `import { runtime } from '@markbase/metal-runtime';`,
      'does not list in dependencies',
    ],
    ['an undeclared side effect', `import 'polyfill';`, 'does not list in dependencies'],
    ['a file of another package', `import { x } from '../../core/src/error.js';`, 'leaves packages/text'],
  ])('rejects %s', (_, source, message) => {
    expect(check('packages/text/src/text-model.ts', source)).toEqual([expect.stringContaining(message)]);
  });

  it('rejects a forbidden dependency in package.json alone', () => {
    const manifest = { name: '@markbase/loader', dependencies: { '@markbase/metal-runtime': 'workspace:*' } };
    const repository = sampleRepository({ 'packages/loader/package.json': JSON.stringify(manifest) });
    expect(packageImports.check(repository)).toEqual([expect.stringContaining('@markbase/metal-runtime')]);
  });

  it('lets the runtime depend on its own platform packages', () => {
    const manifest = {
      name: '@markbase/metal-runtime',
      optionalDependencies: { '@markbase/metal-runtime-linux-x64': 'workspace:*' },
    };
    const repository = sampleRepository({ 'packages/metal-runtime/package.json': JSON.stringify(manifest) });
    expect(packageImports.check(repository)).toEqual([]);
  });

  it('finds every form of import, but none in comments', () => {
    const source = `import a from "a";\nimport 'b';\nexport { c } from 'c';\nimport('d');\n/* import 'e'; */\n// import 'f';`;
    expect(importsOf(source).sort()).toEqual(['a', 'b', 'c', 'd']);
  });
});
