import { expect, it } from 'vitest';
import { leftovers } from './leftovers.mjs';
import { machinePaths } from './machine-paths.mjs';
import { pinnedActions } from './pinned-actions.mjs';
import { registryHosts } from './registry-hosts.mjs';
import { sampleRepository } from './repository.mjs';

// The samples are assembled from parts, so that this file itself passes the rules.
const mark = ['TO', 'DO'].join('');
const home = ['', 'home', 'somebody', 'models'].join('/');
const beside = ['..', 'shared', 'fixtures'].join('/');

it('leftovers: rejects marks of unfinished work, with their line', () => {
  const repository = sampleRepository({ 'packages/text/src/a.ts': `\n// ${mark}: later\n` });
  expect(leftovers.check(repository)).toEqual([expect.stringContaining(`packages/text/src/a.ts:2: ${mark}`)]);
});

it('leftovers: ignores data files and partial words', () => {
  const repository = sampleRepository({
    'fixtures/a.json': mark,
    'packages/text/src/a.ts': `const ${mark}S = 1;`,
  });
  expect(leftovers.check(repository)).toEqual([]);
});

it.each([home, ['', 'Users', 'somebody'].join('/'), ['', 'root', 'x'].join('/'), beside])(
  'machine-paths: rejects %s',
  (path) => {
    const repository = sampleRepository({ 'tools/a.mjs': `const folder = '${path}';\n` });
    expect(machinePaths.check(repository)).toHaveLength(1);
  },
);

it('machine-paths: accepts relative paths, URLs, and the fixtures next to the checkout in .ci/run', () => {
  const repository = sampleRepository({
    'tools/a.mjs': `const folder = '../packages/home/work'; const page = 'https://example.org/home/page';\n`,
    '.ci/run': `ls ${beside}\n`,
  });
  expect(machinePaths.check(repository)).toEqual([]);
});

it('registry-hosts: rejects addresses in the lock file and registries in configuration', () => {
  const host = ['registry', 'example', 'org'].join('.');
  const repository = sampleRepository({
    'pnpm-lock.yaml': `resolution: {tarball: https://example.org/a.tgz}\n`,
    '.npmrc': `@scope:${'registry'}=https://${host}\n`,
    'package.json': `{ "homepage": "https://example.org" }\n`,
  });
  expect(registryHosts.check(repository).map((finding) => finding.split(':')[0])).toEqual([
    '.npmrc',
    'pnpm-lock.yaml',
  ]);
});

it('pinned-actions: accepts a commit with its version, rejects tags and commits alone', () => {
  const commit = '0123456789abcdef0123456789abcdef01234567';
  const lines = [
    `- uses: owner/name@${commit} # v1.2.3`,
    '- uses: ./.github/actions/own',
    '- uses: owner/name@v4',
    `- uses: owner/name@${commit}`,
    `  uses: owner/name/folder@${commit} # v4`,
  ];
  const repository = sampleRepository({ '.github/workflows/a.yml': lines.join('\n') });
  expect(pinnedActions.check(repository).map((finding) => finding.split(':')[1])).toEqual(['3', '4', '5']);
});
