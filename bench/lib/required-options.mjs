/**
 * Ends the script if a required option is missing.
 *
 * @param {Record<string, unknown>} flags Parsed options.
 * @param {readonly string[]} names Names without dashes.
 */
export function requireOptions(flags, names) {
  const missing = names.filter((name) => !flags[name]);
  if (missing.length === 0) return;
  const options = missing.map((name) => `--${name}`).join(' and ');
  process.stderr.write(`${options} ${missing.length > 1 ? 'are' : 'is'} needed: see bench/README.md\n`);
  process.exit(1);
}
