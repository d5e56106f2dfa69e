/**
 * The TypeScript examples of a README, in order: its ```ts blocks. A README starts with a complete program; what follows
 * may be a fragment.
 *
 * @param {string} markdown
 * @returns {string[]}
 */
export function examplesOf(markdown) {
  return [...markdown.matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '');
}
