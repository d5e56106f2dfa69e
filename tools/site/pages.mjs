import path from 'node:path';

/** Where the sources are published. */
const SOURCES = 'https://github.com/markbase/engine/blob/main/';

/** Documents of the repository that are pages of the site. @type {Readonly<Record<string, string>>} */
export const DOCUMENTS = {
  'ARCHITECTURE.md': 'how-it-works/architecture.md',
  'docs/gemma4.md': 'how-it-works/gemma4.md',
  'docs/cuda.md': 'how-it-works/cuda.md',
  'docs/metal-on-linux.md': 'how-it-works/metal-on-linux.md',
  'docs/speed.md': 'performance.md',
  'docs/verified.md': 'verified.md',
};

/**
 * A document as a page: links to other pages stay in the site, links to other files lead to the sources.
 *
 * @param {string} markdown
 * @param {string} file Path of the document in the repository.
 * @returns {string}
 */
export function pageOf(markdown, file) {
  return outsideCode(markdown, (text) =>
    text.replace(/\]\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)/g, (_, target, anchor = '') => {
      const linked = path.posix.join(path.posix.dirname(file), target);
      const page = DOCUMENTS[linked];
      if (page !== undefined) return `](/${page}${anchor})`;
      const readme = /^packages\/([\w-]+)\/README\.md$/.exec(linked)?.[1];
      if (readme !== undefined) return `](/reference/${readme}.md)`;
      return `](${SOURCES}${linked.replace(/\/$/, '')}${anchor})`;
    }),
  );
}

/**
 * A page of the reference: typedoc names the packages after their folders.
 *
 * @param {string} markdown
 * @param {string} name Of the package, without its scope.
 */
export function referenceOf(markdown, name) {
  return (
    markdown
      .replace(/^# .*$/m, `# @markbase/${name}`)
      // VitePress writes a hyphen for an underscore in the name of a place.
      .replace(/\]\((#\w+)\)/g, (_, anchor) => `](${anchor.replaceAll('_', '-')})`)
      .replace(
        /\]\((?:\.\.\/)+([\w-]+)\/src\.md(#[^)]*)?\)/g,
        (_, other, anchor = '') => `](${other}.md${anchor})`,
      )
  );
}

/**
 * Puts drawings and charts into a page, where it says `<!-- drawing: NAME -->`; a table in `performance.md` gets a chart.
 *
 * @param {string} markdown
 * @param {(name: string) => string} drawing Returns the SVG of a drawing.
 */
export function withDrawings(markdown, drawing) {
  return markdown.replace(/^<!-- drawing: ([\w-]+) -->$/gm, (_, name) => figure(drawing(name)));
}

/** SVG within a page. @param {string} svg */
export function figure(svg) {
  return `<figure class="drawing">${svg.replace(/\s*\n\s*/g, ' ').trim()}</figure>`;
}

/**
 * Changes a document outside of its code blocks.
 *
 * @param {string} markdown
 * @param {(text: string) => string} change
 */
function outsideCode(markdown, change) {
  return markdown
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}
