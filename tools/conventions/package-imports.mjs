import path from 'node:path';
import { isTest, packageFolderOf } from './repository.mjs';

const SCOPE = '@markbase/';
const BELOW_MODELS = ['core', 'loader', 'metal-runtime'];

/** Which packages of the workspace a package may import, as ARCHITECTURE.md lists them. @type {Record<string, readonly string[]>} */
const ALLOWED = {
  core: [],
  loader: ['core'],
  'metal-runtime': ['core'],
  text: BELOW_MODELS,
  vision: BELOW_MODELS,
  audio: BELOW_MODELS,
  moe: BELOW_MODELS,
  server: ['core', 'metal-runtime', 'text'],
  'ai-provider': ['core', 'metal-runtime', 'text'],
  gemma: [...BELOW_MODELS, 'text', 'vision', 'audio', 'moe'],
  'demo-model': [],
  playground: [
    ...BELOW_MODELS,
    'text',
    'vision',
    'audio',
    'moe',
    'gemma',
    'server',
    'ai-provider',
    'demo-model',
  ],
};
/** Tests may also use the packaged checkpoint, which has no dependencies. */
const TESTS_MAY_ADD = ['demo-model'];

/** Folders of a package that are built or tested. */
const SOURCES = /^(?:src|families|test)\/.*\.(?:ts|tsx)$/;

const IMPORT = /(?:\bfrom\s*|\bimport\s*\(\s*|^\s*import\s+)(['"])([\w@./:#-]+)\1/gm;

/** Packages import each other only downwards, by name, and only what their package.json declares. @type {import('./repository.mjs').Rule} */
export const packageImports = {
  name: 'package-imports',
  check(repository) {
    const findings = [];
    for (const file of repository.files) {
      const folder = packageFolderOf(file);
      if (folder === null || folder.includes('/npm/')) continue;
      if (file === `${folder}/package.json`) findings.push(...checkManifest(repository, file, folder));
      else if (SOURCES.test(file.slice(folder.length + 1))) {
        findings.push(...checkSource(repository, file, folder));
      }
    }
    return findings;
  },
};

/**
 * @param {import('./repository.mjs').Repository} repository
 * @param {string} file
 * @param {string} folder
 */
function checkManifest(repository, file, folder) {
  const manifest = JSON.parse(repository.text(file));
  const findings = [];
  for (const key of ['dependencies', 'optionalDependencies', 'peerDependencies', 'devDependencies']) {
    for (const dependency of Object.keys(manifest[key] ?? {})) {
      if (!dependency.startsWith(SCOPE) || isOwnPlatformPackage(manifest.name, dependency)) continue;
      const forTests = key === 'devDependencies';
      if (!isAllowed(path.posix.basename(folder), dependency, forTests)) {
        findings.push(`${file}: ${key} lists ${dependency}, which ${folder} may not import`);
      }
    }
  }
  return findings;
}

/**
 * @param {import('./repository.mjs').Repository} repository
 * @param {string} file
 * @param {string} folder
 */
function checkSource(repository, file, folder) {
  const forTests = isTest(file);
  const manifest = JSON.parse(repository.text(`${folder}/package.json`) || '{}');
  const declared = new Set(
    ['dependencies', 'optionalDependencies', 'peerDependencies', ...(forTests ? ['devDependencies'] : [])]
      .flatMap((key) => Object.keys(manifest[key] ?? {}))
      .concat(manifest.name ?? []),
  );
  const findings = [];
  for (const specifier of importsOf(repository.text(file))) {
    if (specifier.startsWith('.')) {
      const target = path.posix.join(path.posix.dirname(file), specifier);
      const isTestData = forTests && target.startsWith('fixtures/');
      if (!target.startsWith(`${folder}/`) && !isTestData) {
        findings.push(`${file}: "${specifier}" leaves ${folder}: import the package by its name`);
      }
      continue;
    }
    if (specifier.startsWith('node:')) continue;
    const name = packageNameOf(specifier);
    if (name.startsWith(SCOPE) && !isAllowed(path.posix.basename(folder), name, forTests)) {
      findings.push(`${file}: ${folder} may not import ${name}`);
    } else if (!declared.has(name) && !(forTests && name === 'vitest')) {
      const key = forTests ? 'any dependencies' : 'dependencies';
      findings.push(`${file}: imports ${name}, which ${folder}/package.json does not list in ${key}`);
    }
  }
  return findings;
}

/**
 * Module names that a source file imports, ignoring comments.
 *
 * @param {string} source
 */
export function importsOf(source) {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  return [...code.matchAll(IMPORT)].map((match) => /** @type {string} */ (match[2]));
}

/**
 * @param {string} folderName
 * @param {string} dependency
 * @param {boolean} forTests
 */
function isAllowed(folderName, dependency, forTests) {
  const target = dependency.slice(SCOPE.length);
  if (target === folderName) return true;
  return (ALLOWED[folderName] ?? []).includes(target) || (forTests && TESTS_MAY_ADD.includes(target));
}

/**
 * @param {string} name
 * @param {string} dependency
 */
function isOwnPlatformPackage(name, dependency) {
  return name === '@markbase/metal-runtime' && dependency.startsWith(`${name}-`);
}

/** @param {string} specifier */
function packageNameOf(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
