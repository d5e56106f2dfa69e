const FILES = new Set([
  '.clang-format',
  '.editorconfig',
  '.gitattributes',
  '.gitignore',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'biome.json',
  'package.json',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  'tsconfig.base.json',
  'tsconfig.json',
  'turbo.json',
  'vitest.config.ts',
]);
const FOLDERS = new Set([
  '.changeset',
  '.devcontainer',
  '.ci',
  '.github',
  'apps',
  'bench',
  'docs',
  'fixtures',
  'packages',
  'tools',
]);
const APPS = new Set(['playground']);

/** The root of the repository stays small. @type {import('./repository.mjs').Rule} */
export const rootLayout = {
  name: 'root-layout',
  check(repository) {
    const findings = new Set();
    for (const file of repository.files) {
      const [top, second, ...rest] = file.split('/');
      if (second === undefined ? !FILES.has(file) : !FOLDERS.has(/** @type {string} */ (top))) {
        findings.add(`${top}: does not belong in the root of the repository`);
      } else if (top === 'apps' && rest.length > 0 && !APPS.has(/** @type {string} */ (second))) {
        findings.add(`apps/${second}: the only application is the playground`);
      }
    }
    return [...findings];
  },
};
