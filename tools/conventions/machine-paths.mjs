import { eachLine } from './repository.mjs';

/** Paths that exist on only one machine. */
const MACHINE_PATH =
  /(?<![\w.-])\/(?:home|Users)\/[A-Za-z0-9._-]+|(?<![\w./~-])\/(?:root|work)\/[A-Za-z0-9._-]+|\b[A-Z]:\\{1,2}Users\\/;
/** A folder next to the checkout. Only `.ci/run` may look for one, with the complete fixtures. */
const BESIDE_CHECKOUT = /\.\.\/shared\b/;

/** No file contains a path of a particular machine. @type {import('./repository.mjs').Rule} */
export const machinePaths = {
  name: 'machine-paths',
  check(repository) {
    /** @type {string[]} */
    const findings = [];
    for (const file of repository.files) {
      eachLine(repository.text(file), (line, number) => {
        const found = MACHINE_PATH.exec(line) ?? (file === '.ci/run' ? null : BESIDE_CHECKOUT.exec(line));
        if (found) findings.push(`${file}:${number}: "${found[0]}" exists on one machine only`);
      });
    }
    return findings;
  },
};
