/**
 * The TypeScript examples of a README, in order: its ```ts blocks. The first is a complete program; the others may be fragments.
 *
 * @param {string} markdown
 * @returns {string[]}
 */
export function examplesOf(markdown) {
  return [...markdown.matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '');
}
