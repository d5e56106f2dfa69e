import { runChecker } from './run-checker.mjs';

/** Biome follows the imports of the checkout that contains its configuration. */
const CONFIG = 'tools/conventions/circles.biome.json';

/** No file imports itself through others; type imports count. @type {import('./repository.mjs').Rule} */
export const importCircles = {
  name: 'import-circles',
  check({ root }) {
    if (root === null) return [];
    const args = ['lint', `--config-path=${CONFIG}`, '--max-diagnostics=none', '--reporter=json', '.'];
    const { diagnostics } = runChecker('biome', args, root);
    return diagnostics
      .filter((/** @type {any} */ { category }) => category === 'lint/suspicious/noImportCycles')
      .map(
        (/** @type {any} */ { location }) =>
          `${location.path}:${location.start.line}: this import is part of a circle`,
      );
  },
};
