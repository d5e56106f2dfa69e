import { eachLine } from './repository.mjs';

const WORKFLOW = /^\.github\/workflows\/.*\.ya?ml$/;
const USES = /^\s*(?:- )?uses:\s*(\S.*)$/;
const PINNED = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;

/** A tag of an action can be moved, a commit cannot. @type {import('./repository.mjs').Rule} */
export const pinnedActions = {
  name: 'pinned-actions',
  check(repository) {
    /** @type {string[]} */
    const findings = [];
    for (const file of repository.files) {
      if (!WORKFLOW.test(file)) continue;
      eachLine(repository.text(file), (line, number) => {
        const action = USES.exec(line)?.[1];
        if (action === undefined || action.startsWith('./') || PINNED.test(action)) return;
        findings.push(`${file}:${number}: "${action}": expected owner/name@<40 digits of a commit> # vX.Y.Z`);
      });
    }
    return findings;
  },
};
