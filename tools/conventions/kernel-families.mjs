import path from 'node:path';
import { FAMILY_MEMBERS } from '../../packages/metal-runtime/scripts/family-members.mjs';
import { importsOf } from './package-imports.mjs';

const RUNTIME = 'packages/metal-runtime/';
const FAMILIES = `${RUNTIME}families/`;

/** Other files that it may have; the name determines which layer reads the file. */
const OTHERS = /^(?:\w+\.(?:metal|h)|(?:cpu|plan)_\w+\.cc|check\.cc|oracle-[a-z0-9-]+\.ts)$/;

/** Imports allowed in the TypeScript of a family, besides its own folder. @type {readonly [file: RegExp, targets: RegExp][]} */
const MAY_IMPORT = [
  [/^node\.ts$/, /^(?:src\/|families\/\w+\/node\.)/],
  [/^oracle\.test\.ts$/, /^(?:test\/test-family\.|families\/\w+\/oracle\.)/],
  [/^oracle/, /^(?:src\/|conformance\/|families\/\w+\/oracle[.-])/],
];

/**
 * A kernel family is a folder with all of its members: parameters, kernels for the CPU and GPUs, plan, node, oracle.
 *
 * @type {import('./repository.mjs').Rule}
 */
export const kernelFamilies = {
  name: 'kernel-families',
  check(repository) {
    const files = new Set(repository.files);
    const findings = [];
    for (const family of familiesOf(repository)) {
      for (const member of FAMILY_MEMBERS) {
        const file = `${FAMILIES}${family}/${member(family)}`;
        if (!files.has(file)) findings.push(`${file}: every family has one`);
      }
    }
    for (const file of files) {
      if (!file.startsWith(FAMILIES)) continue;
      const [family = '', name, ...deeper] = file.slice(FAMILIES.length).split('/');
      if (name === undefined || deeper.length > 0) {
        findings.push(`${file}: families/ holds only folders of families`);
        continue;
      }
      const isMember = FAMILY_MEMBERS.some((member) => member(family) === name);
      if (!isMember && !OTHERS.test(name)) findings.push(`${file}: a family has no part of this name`);
      if (name.endsWith('.ts')) findings.push(...strayImports(repository, file, name));
    }
    return findings;
  },
};

/**
 * Names of the families, which are those of their folders.
 *
 * @param {import('./repository.mjs').Repository} repository
 */
export function familiesOf(repository) {
  const names = repository.files.flatMap((file) => {
    const match = /^packages\/metal-runtime\/families\/(\w+)\//.exec(file);
    return match ? [/** @type {string} */ (match[1])] : [];
  });
  return [...new Set(names)];
}

/**
 * @param {import('./repository.mjs').Repository} repository
 * @param {string} file
 * @param {string} name
 */
function strayImports(repository, file, name) {
  const allowed = MAY_IMPORT.find(([of]) => of.test(name))?.[1];
  const folder = path.posix.dirname(file);
  return importsOf(repository.text(file))
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => path.posix.join(folder, specifier))
    .filter((target) => !target.startsWith(`${folder}/`) && !allowed?.test(target.slice(RUNTIME.length)))
    .map((target) => `${file}: imports ${target}, which ${name} may not`);
}
