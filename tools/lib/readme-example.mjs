/**
 * The TypeScript examples of a README, in order: its ```ts blocks, each of which is a complete program.
 *
 * @param {string} markdown
 * @returns {string[]}
 */
export function examplesOf(markdown) {
  return [...markdown.matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '');
}

/**
 * The commands of the ```sh blocks that match.
 *
 * @param {string} markdown
 * @param {RegExp} kind
 * @returns {string[]}
 */
export function commandsOf(markdown, kind) {
  return [...markdown.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
    .flatMap((match) => (match[1] ?? '').split('\n'))
    .filter((line) => kind.test(line));
}
