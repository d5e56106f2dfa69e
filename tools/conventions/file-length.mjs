import { isTypeScript } from './repository.mjs';

/** Number of lines, including blank ones and comments. */
const TYPESCRIPT_LINES = 400;
const NATIVE_LINES = 500;
/** Number of lines in which the reason must be. */
const REASON_WITHIN_LINES = 12;

/** A long file gives its reason in the first lines: `// Long because …`. @type {import('./repository.mjs').Rule} */
export const fileLength = {
  name: 'file-length',
  check(repository) {
    const findings = [];
    for (const file of repository.files) {
      const limit = limitOf(file);
      if (limit === null) continue;
      const lines = repository.text(file).split('\n');
      if (lines.at(-1) === '') lines.pop();
      const hasReason = lines.slice(0, REASON_WITHIN_LINES).some((line) => /\blong because\b/i.test(line));
      if (lines.length > limit && !hasReason) {
        findings.push(
          `${file}: ${lines.length} lines, expected at most ${limit}: split it, or say "Long because …" at its top`,
        );
      }
    }
    return findings;
  },
};

/** @param {string} file */
function limitOf(file) {
  if (isTypeScript(file) || file.endsWith('.mjs')) return TYPESCRIPT_LINES;
  return /\.(?:cc|h|mm|metal)$/.test(file) ? NATIVE_LINES : null;
}
