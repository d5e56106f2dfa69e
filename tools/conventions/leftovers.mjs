import { eachLine } from './repository.mjs';

// Spelled in two parts so that this file passes its own rule.
const MARKS = new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`);

/** Plans live in issues, not in sources. @type {import('./repository.mjs').Rule} */
export const leftovers = {
  name: 'leftovers',
  check(repository) {
    /** @type {string[]} */
    const findings = [];
    for (const file of repository.files) {
      if (file.startsWith('fixtures/') || file.startsWith('packages/demo-model/model/')) continue;
      if (file === 'pnpm-lock.yaml') continue;
      eachLine(repository.text(file), (line, number) => {
        const mark = MARKS.exec(line);
        if (mark) findings.push(`${file}:${number}: ${mark[0]}: finish it, or open an issue`);
      });
    }
    return findings;
  },
};
