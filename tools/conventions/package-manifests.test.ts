import { describe, expect, it } from 'vitest';
import { packageManifests } from './package-manifests.mjs';
import { sampleRepository } from './repository.mjs';

const core = {
  name: '@markbase/core',
  version: '0.1.0',
  license: 'MIT',
  type: 'module',
  repository: { directory: 'packages/core' },
  engines: { node: '^20.19.0 || >=22.12.0' },
  sideEffects: false,
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './package.json': './package.json',
  },
  files: ['dist', 'CHANGELOG.md'],
  publishConfig: { access: 'public' },
};

function check(manifest: object, documents = ['README.md', 'LICENSE']): string[] {
  const files = Object.fromEntries(documents.map((name) => [`packages/core/${name}`, name]));
  const repository = sampleRepository({ ...files, 'packages/core/package.json': JSON.stringify(manifest) });
  return packageManifests.check(repository);
}

describe('package-manifests', () => {
  it('accepts a complete package and a private placeholder', () => {
    expect(check(core)).toEqual([]);
    const { exports: _, files: __, publishConfig: ___, ...placeholder } = core;
    expect(check({ ...placeholder, private: true }, [])).toEqual([]);
  });

  it.each([
    [{ license: 'ISC' }, 'license is ISC'],
    [{ engines: { node: '>=18' } }, 'engines.node'],
    [{ repository: { directory: 'packages/other' } }, 'repository.directory'],
    [{ dependencies: { hono: '^4.13.0' } }, 'expected an exact version'],
    [{ sideEffects: true }, 'sideEffects'],
    [{ type: 'commonjs' }, 'type is commonjs'],
    [{ publishConfig: { access: 'restricted' } }, 'publishConfig'],
    [{ files: undefined }, '"files" must list'],
    [{ files: ['dist'] }, '"files" must hold CHANGELOG.md'],
    [
      { exports: { ...core.exports, '.': { default: './a.js', types: './a.d.ts' } } },
      'must start with its types',
    ],
    [{ exports: { '.': core.exports['.'] } }, 'exports must hold "./package.json"'],
  ])('rejects %j', (change, message) => {
    expect(check({ ...core, ...change })).toEqual([expect.stringContaining(message)]);
  });

  it('rejects a package without its documents', () => {
    expect(check(core, ['LICENSE'])).toEqual([expect.stringContaining('README.md')]);
  });

  it('keeps the platform packages in step with the runtime', () => {
    const folder = 'packages/metal-runtime';
    const runtime = { ...core, name: '@markbase/metal-runtime', repository: { directory: folder } };
    const platformFolder = `${folder}/npm/linux-x64`;
    const platform = {
      ...core,
      name: '@markbase/metal-runtime-linux-x64',
      version: '0.0.9',
      os: ['linux'],
      repository: { directory: platformFolder },
    };
    const documents = [folder, platformFolder].flatMap((at) => [`${at}/README.md`, `${at}/LICENSE`]);
    const findings = packageManifests.check(
      sampleRepository({
        ...Object.fromEntries(documents.map((name) => [name, name])),
        [`${folder}/package.json`]: JSON.stringify(runtime),
        [`${platformFolder}/package.json`]: JSON.stringify(platform),
      }),
    );
    expect(findings).toEqual([
      expect.stringContaining('version 0.0.9'),
      expect.stringContaining('optionalDependencies must list'),
    ]);
  });
});
