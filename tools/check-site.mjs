// `node tools/check-site.mjs`: builds the documentation and reads it as a visitor would: every link leads somewhere, and in Chromium every page
/// <reference lib="dom" />
// opens without an error, a request to another host, or text that is wider than a phone; search and the dark theme work.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { buildSite } from './build-site.mjs';
import { writeReport } from './lib/report.mjs';
import { brokenLinks } from './site/broken-links.mjs';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};
const executablePath = process.env.MARKBASE_CHROMIUM ?? '/usr/bin/chromium';
const counts = { passed: 0, failed: 0, skipped: 0 };

/** @param {string} title @param {readonly string[]} faults */
function note(title, faults) {
  counts[faults.length === 0 ? 'passed' : 'failed'] += 1;
  console.log(`${faults.length === 0 ? 'ok    ' : 'FAILED'} ${title}`);
  for (const fault of faults) console.log(`  ${fault}`);
}

/** @param {string} folder */
async function serve(folder) {
  const server = createServer((request, response) => {
    const file = path.join(folder, decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname));
    const found = file.endsWith('/') ? `${file}index.html` : file;
    if (!existsSync(found)) return response.writeHead(404).end();
    const type = /** @type {Record<string, string>} */ (TYPES)[path.extname(found)];
    response.writeHead(200, type === undefined ? {} : { 'content-type': type }).end(readFileSync(found));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { address: `http://127.0.0.1:${port}`, server };
}

/** @param {string} folder @param {readonly string[]} pages */
async function visit(folder, pages) {
  const { address, server } = await serve(folder);
  const runtime = mkdtempSync(path.join(os.tmpdir(), 'markbase-site-'));
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--headless'],
    env: { .../** @type {Record<string, string>} */ (process.env), XDG_RUNTIME_DIR: runtime },
  });
  try {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 }, colorScheme: 'light' });
    page.setDefaultTimeout(30_000);
    /** @type {string[]} */
    let faults = [];
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(`${address}/`) && !/^(?:data|blob):/.test(request.url()))
        faults.push(`asked ${request.url()}`);
    });
    for (const name of pages) {
      faults = [];
      await page.goto(`${address}/${name}`);
      await page.locator('.VPNav').waitFor();
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (excess > 0) faults.push(`${excess} pixels wider than a phone`);
      note(`page ${name}`, faults);
    }
    faults = [];
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${address}/start.html`);
    note('search', [...(await search(page)), ...faults]);
    await page.goto(`${address}/performance.html`);
    note('dark theme', await darken(page));
  } finally {
    await browser.close();
    server.close();
    rmSync(runtime, { recursive: true, force: true });
  }
}

/** @param {import('playwright-core').Page} page @returns {Promise<string[]>} */
async function search(page) {
  await page.locator('.VPNavBarSearch button').first().click();
  await page.locator('.VPLocalSearchBox input').fill('transcribe');
  const result = page.locator('.VPLocalSearchBox .result').filter({ hasText: 'Sound' }).first();
  await result.click();
  await page.waitForURL(/guides\/sound\.html/);
  const heading = await page.locator('h1').textContent();
  return heading?.includes('Sound') ? [] : [`search led to "${heading}"`];
}

/** @param {import('playwright-core').Page} page @returns {Promise<string[]>} */
async function darken(page) {
  const colours = () =>
    page.evaluate(() => {
      const text = document.querySelector('.drawing svg text');
      return [getComputedStyle(document.body).backgroundColor, text && getComputedStyle(text).fill];
    });
  const light = await colours();
  await page.locator('.VPNavBarAppearance button').click();
  await page.locator('html.dark').waitFor({ state: 'attached' });
  const dark = await colours();
  return light.flatMap((colour, index) =>
    colour === null || colour === dark[index]
      ? [`${colour} in the light theme, ${dark[index]} in the dark one`]
      : [],
  );
}

const folder = buildSite();
const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.html') && file !== '404.html')
  .sort();
note(`links of ${pages.length} pages`, brokenLinks(folder, pages));
if (existsSync(executablePath)) await visit(folder, pages);
else counts.skipped += 1;
writeReport('site', counts);
process.exitCode = counts.failed > 0 ? 1 : 0;
