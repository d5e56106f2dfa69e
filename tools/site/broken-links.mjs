import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Links of built pages that lead nowhere in the site: the page does not exist, or has no element with that id.
 *
 * @param {string} folder
 * @param {readonly string[]} pages Paths within the folder.
 * @returns {string[]}
 */
export function brokenLinks(folder, pages) {
  const texts = new Map(pages.map((page) => [page, readFileSync(path.join(folder, page), 'utf8')]));
  const ids = new Map([...texts].map(([page, text]) => [page, idsOf(text)]));
  const findings = new Set();
  for (const [page, text] of texts) {
    for (const [, link = ''] of text.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      if (/^(?:https?:|mailto:|data:)/.test(link)) continue;
      const url = new URL(link.replaceAll('&amp;', '&'), `http://site/${page}`);
      const target = url.pathname.slice(1) === '' ? 'index.html' : decodeURIComponent(url.pathname.slice(1));
      const file = target.endsWith('/') ? `${target}index.html` : target;
      const id = decodeURIComponent(url.hash.slice(1));
      if (!existsSync(path.join(folder, file))) findings.add(`${page}: ${link} does not exist`);
      else if (id !== '' && ids.get(file)?.has(id) === false)
        findings.add(`${page}: ${link} has no such place`);
    }
  }
  return [...findings];
}

/** @param {string} html */
function idsOf(html) {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1]));
}
