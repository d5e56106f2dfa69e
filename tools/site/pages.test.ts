import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../fixtures/temporary-folder.js';
import { brokenLinks } from './broken-links.mjs';
import { chartOf, withCharts } from './chart.mjs';
import { pageOf, referenceOf, withDrawings } from './pages.mjs';

it('keeps links between pages in the site, and leads others to the sources', () => {
  const text = '[a](../ARCHITECTURE.md#tests) [b](../bench/notes-h200.md) [c](cuda.md) [d](https://x.y)';
  expect(pageOf(text, 'docs/speed.md')).toBe(
    '[a](/how-it-works/architecture.md#tests) ' +
      '[b](https://github.com/markbase/engine/blob/main/bench/notes-h200.md) ' +
      '[c](/how-it-works/cuda.md) [d](https://x.y)',
  );
  expect(pageOf('[a](packages/text/README.md)', 'ARCHITECTURE.md')).toBe('[a](/reference/text.md)');
  expect(pageOf('```ts\na[0](x)\n```', 'ARCHITECTURE.md')).toBe('```ts\na[0](x)\n```');
});

it('names the pages of the reference after their packages', () => {
  const text = '# text/src\n\n[`Checkpoint`](../loader/src.md#checkpoint)\n';
  expect(referenceOf(text, 'text')).toBe('# @markbase/text\n\n[`Checkpoint`](loader.md#checkpoint)\n');
});

it('draws a table of figures, each row with its own scale', () => {
  const table = '| | MarkBase | other |\n|---|---|---|\n| tokens/s | 1,000 | 500 |\n| memory, GB | 1 | 4 |\n';
  const chart = chartOf(table)!;
  const widths = [...chart.matchAll(/<rect [^>]*width="(\d+)"/g)].map((match) => Number(match[1]));
  expect(widths).toEqual([400, 200, 100, 400]);
  expect(chart).toContain('>1,000</text>');
  expect(withCharts(`# Speed\n\n${table}\nEnd.\n`)).toContain(`${table}\n<figure class="drawing"><svg`);
});

it('leaves a table with words alone', () => {
  expect(chartOf('| | result |\n|---|---|\n| a | ok |\n')).toBeNull();
});

it('puts drawings where pages name them', () => {
  expect(withDrawings('a\n<!-- drawing: x -->\nb', (name) => `<svg>\n  ${name}\n</svg>`)).toBe(
    'a\n<figure class="drawing"><svg> x </svg></figure>\nb',
  );
});

it('finds links to pages and places that do not exist', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'guides'));
  const link = (to: string) => `<a href="${to}">x</a>`;
  const links = ['/guides/a.html#here', '/guides/a.html#there', '/none.html', 'https://x.y', '#top'];
  writeFileSync(join(folder, 'index.html'), `<h1 id="top"></h1>${links.map(link).join('')}`);
  writeFileSync(join(folder, 'guides/a.html'), '<h2 id="here"></h2><a href="../index.html">x</a>');
  expect(brokenLinks(folder, ['index.html', 'guides/a.html'])).toEqual([
    'index.html: /guides/a.html#there has no such place',
    'index.html: /none.html does not exist',
  ]);
});
