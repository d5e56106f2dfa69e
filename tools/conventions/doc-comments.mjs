import { isTest, isTypeScript } from './repository.mjs';

const EXPORT =
  /^export (?:default )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|enum) ([A-Za-z_$][\w$]*)/;

/** Every export of a package has a doc comment directly above it. @type {import('./repository.mjs').Rule} */
export const docComments = {
  name: 'doc-comments',
  check(repository) {
    /** @type {string[]} */
    const findings = [];
    for (const file of repository.files) {
      if (!/^packages\/[^/]+\/src\//.test(file) || !isTypeScript(file) || isTest(file)) continue;
      const lines = repository.text(file).split('\n');
      /** @type {Set<string>} Overloads share the comment of the first. */
      const documented = new Set();
      lines.forEach((line, index) => {
        const name = EXPORT.exec(line)?.[1];
        if (name === undefined || documented.has(name)) return;
        documented.add(name);
        if (!/\*\/\s*$/.test(lines[index - 1] ?? '')) {
          findings.push(`${file}:${index + 1}: ${name} has no doc comment`);
        }
      });
    }
    return findings;
  },
};
