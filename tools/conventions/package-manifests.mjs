import path from 'node:path';

const RUNTIME = '@markbase/metal-runtime';
/** From these versions on, `require` loads ES modules. */
const NODE = '^20.19.0 || >=22.12.0';
const EXACT = /^(?:\d+\.\d+\.\d+(?:-[\w.]+)?|workspace:\*)$/;

/** Package manifests are uniform, and published packages are complete. @type {import('./repository.mjs').Rule} */
export const packageManifests = {
  name: 'package-manifests',
  check(repository) {
    const files = new Set(repository.files);
    const findings = [];
    /** @type {Map<string, any>} */
    const manifests = new Map();
    for (const file of repository.files) {
      if (!/^(?:packages|apps)\/(?:[^/]+|metal-runtime\/npm\/[^/]+)\/package\.json$/.test(file)) continue;
      const manifest = JSON.parse(repository.text(file));
      manifests.set(manifest.name, manifest);
      findings.push(...common(file, manifest));
      if (manifest.private !== true) findings.push(...published(file, manifest, files));
    }
    return [...findings, ...platformPackages(manifests)];
  },
};

/**
 * @param {string} file
 * @param {any} manifest
 */
function common(file, manifest) {
  const folder = path.posix.dirname(file);
  const findings = [];
  /** @param {string} key @param {unknown} expected @param {unknown} received */
  const expect = (key, expected, received) => {
    if (received !== expected) findings.push(`${file}: ${key} is ${received}, expected ${expected}`);
  };
  expect('license', 'MIT', manifest.license);
  expect('engines.node', NODE, manifest.engines?.node);
  expect('repository.directory', folder, manifest.repository?.directory);
  for (const key of ['dependencies', 'optionalDependencies', 'devDependencies']) {
    for (const [name, range] of Object.entries(manifest[key] ?? {})) {
      if (!EXACT.test(String(range)))
        findings.push(`${file}: ${key}.${name} is "${range}", expected an exact version`);
    }
  }
  return findings;
}

/**
 * @param {string} file
 * @param {any} manifest
 * @param {Set<string>} files
 */
function published(file, manifest, files) {
  const folder = path.posix.dirname(file);
  const findings = [];
  for (const document of ['README.md', 'LICENSE']) {
    if (!files.has(`${folder}/${document}`))
      findings.push(`${folder}: a published package needs a ${document}`);
  }
  if (manifest.publishConfig?.access !== 'public')
    findings.push(`${file}: publishConfig must set access "public"`);
  if (!Array.isArray(manifest.files)) findings.push(`${file}: "files" must list what is published`);
  else if (!manifest.files.includes('CHANGELOG.md')) findings.push(`${file}: "files" must hold CHANGELOG.md`);
  if (manifest.os !== undefined) return findings;
  if (manifest.type !== 'module') findings.push(`${file}: type is ${manifest.type}, expected module`);
  if (manifest.sideEffects !== false) findings.push(`${file}: sideEffects must be false`);
  if (manifest.exports?.['./package.json'] !== './package.json') {
    findings.push(`${file}: exports must hold "./package.json"`);
  }
  for (const [entry, conditions] of Object.entries(manifest.exports ?? {})) {
    if (!startsWithTypes(conditions)) findings.push(`${file}: exports["${entry}"] must start with its types`);
  }
  return findings;
}

/**
 * True if types come first, after conditions such as "browser" that have their own types.
 *
 * @param {unknown} conditions
 * @returns {boolean}
 */
function startsWithTypes(conditions) {
  if (typeof conditions !== 'object' || conditions === null) return true;
  for (const [name, value] of Object.entries(conditions)) {
    if (name === 'types') return true;
    if (typeof value !== 'object' || !startsWithTypes(value)) return false;
  }
  return false;
}

/** @param {Map<string, any>} manifests */
function platformPackages(manifests) {
  const runtime = manifests.get(RUNTIME);
  const findings = [];
  for (const [name, manifest] of manifests) {
    if (!name.startsWith(`${RUNTIME}-`)) continue;
    if (manifest.version !== runtime?.version) {
      findings.push(`${name}: version ${manifest.version}, expected that of ${RUNTIME}: ${runtime?.version}`);
    }
    if (runtime?.optionalDependencies?.[name] === undefined) {
      findings.push(`${RUNTIME}: optionalDependencies must list ${name}`);
    }
  }
  return findings;
}
