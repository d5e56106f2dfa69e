// `node tools/build-site.mjs`: builds the documentation into build/site/.vitepress/dist. Pages come from docs/site, from documents of the
// repository, and from the doc comments of the packages (typedoc). `npx vitepress dev build/site` serves what this command has put together.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { must, repositoryRoot } from './lib/process.mjs';
import { withCharts } from './site/chart.mjs';
import { DOCUMENTS, pageOf, referenceOf, withDrawings } from './site/pages.mjs';

const SOURCE = path.join(repositoryRoot, 'docs/site');
const TARGET = path.join(repositoryRoot, 'build/site');

/** Puts all pages together in `build/site`. */
function assemble() {
  rmSync(TARGET, { recursive: true, force: true });
  cpSync(SOURCE, TARGET, { recursive: true });
  cpSync(path.join(repositoryRoot, 'docs/images'), path.join(TARGET, 'public/images'), { recursive: true });
  for (const [document, page] of Object.entries(DOCUMENTS)) {
    const text = pageOf(readFileSync(path.join(repositoryRoot, document), 'utf8'), document);
    write(page, page === 'performance.md' ? withCharts(text) : text);
  }
  for (const file of readdirSync(TARGET, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.md')) continue;
    const text = readFileSync(path.join(TARGET, file), 'utf8');
    write(
      file,
      withDrawings(text, (name) => readFileSync(path.join(SOURCE, 'drawings', `${name}.svg`), 'utf8')),
    );
  }
  writeReference();
}

/** One page per package, from its doc comments. */
function writeReference() {
  const raw = path.join(TARGET, 'typedoc');
  must('npx', ['typedoc', '--options', path.join(SOURCE, 'typedoc.json'), '--out', raw], {
    cwd: repositoryRoot,
  });
  for (const name of readdirSync(raw, { withFileTypes: true })) {
    if (!name.isDirectory()) continue;
    const text = readFileSync(path.join(raw, name.name, 'src.md'), 'utf8');
    write(`reference/${name.name}.md`, referenceOf(text, name.name));
  }
  rmSync(raw, { recursive: true });
}

/** @param {string} page @param {string} text */
function write(page, text) {
  const file = path.join(TARGET, page);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Builds the site. @returns {string} Its folder. */
export function buildSite() {
  assemble();
  must('npx', ['vitepress', 'build', TARGET], { cwd: repositoryRoot });
  return path.join(TARGET, '.vitepress/dist');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(buildSite());
