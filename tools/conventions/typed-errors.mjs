import { eachLine, isTest, isTypeScript } from './repository.mjs';

/** Packages throw classes of @markbase/core with data fields, never a bare Error. @type {import('./repository.mjs').Rule} */
export const typedErrors = {
  name: 'typed-errors',
  check(repository) {
    /** @type {string[]} */
    const findings = [];
    for (const file of repository.files) {
      if (!/^packages\/[^/]+\/src\//.test(file) || !isTypeScript(file) || isTest(file)) continue;
      eachLine(repository.text(file), (line, number) => {
        const bare = /\bnew (?:Error|TypeError|RangeError)\(/.exec(line.replace(/^\s*(?:\/\/|\*).*/, ''));
        if (bare) findings.push(`${file}:${number}: ${bare[0]}…): throw an error class of @markbase/core`);
      });
    }
    return findings;
  },
};
