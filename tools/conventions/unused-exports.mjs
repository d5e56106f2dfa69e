import { fileURLToPath } from 'node:url';
import { runChecker } from './run-checker.mjs';

const CONFIG = fileURLToPath(new URL('knip.json', import.meta.url));

/**
 * Every export and every file is imported somewhere. Exports that are loaded by name at run time are marked `@public`; types that other
 * exports of their file mention may also be exported.
 *
 * @type {import('./repository.mjs').Rule}
 */
export const unusedExports = {
  name: 'unused-exports',
  check({ root }) {
    if (root === null) return [];
    const args = [`--config=${CONFIG}`, '--include=files,exports,types', '--reporter=json', '--no-progress'];
    const { files, issues } = runChecker('knip', args, root);
    const findings = files.map((/** @type {string} */ file) => `${file}: nothing imports this file`);
    for (const { file, exports, types } of issues) {
      for (const { name, line } of [...exports, ...types]) {
        findings.push(`${file}:${line}: nothing imports ${name}: delete it, or do not export it`);
      }
    }
    return findings;
  },
};
