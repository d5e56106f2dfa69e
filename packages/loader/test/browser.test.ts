import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browserEnvironment } from '../../../fixtures/browser-environment.js';
import { histogramOf } from '../examples/browser/histogram.js';
import { rawSafetensors } from './raw-safetensors.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const executablePath = process.env.MARKBASE_CHROMIUM ?? '/usr/bin/chromium';

const HEADER =
  '{"weights":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"half":{"dtype":"BF16","shape":[2],"data_offsets":[24,28]}}';
const VALUES = Float32Array.of(-1, 0, 0, 0, 1, 3);
const FILE = rawSafetensors(
  HEADER,
  new Uint8Array([...new Uint8Array(VALUES.buffer), 0x80, 0x3f, 0xc0, 0x7f]),
);

/** All source files that the browser entry imports at run time, including itself. */
function importedFiles(entry: string): Map<string, string> {
  const files = new Map<string, string>();
  const pending = [entry];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (files.has(path)) continue;
    const text = readFileSync(path, 'utf8');
    files.set(path, text);
    for (const [, isType, from] of text.matchAll(
      /^(?:import|export)( type)?\b[^;]*? from \x27([^\x27]+)\x27/gm,
    )) {
      if (isType === undefined && from!.startsWith('.')) {
        pending.push(join(dirname(path), from!.replace(/\.js$/, '.ts')));
      }
    }
  }
  return files;
}

describe('the browser entry', () => {
  it('does not need Node', () => {
    const files = importedFiles(join(root, 'src/browser.ts'));
    expect(files.size).toBeGreaterThan(20);
    for (const [path, text] of files) {
      expect(text, path).not.toMatch(
        /^(?:import|export)(?! type)[^;]*from \x27node:|\b(?:process|Buffer)\./m,
      );
    }
  });

  it('is the entry of the package for browsers', () => {
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(exports['.'].browser).toEqual(exports['./browser']);
    const conditions = Object.keys(exports['.']);
    // The first condition that applies is taken, also for types.
    expect(conditions[0]).toBe('browser');
  });
});

describe('histogramOf', () => {
  it('counts every finite value once', () => {
    expect(histogramOf(VALUES, 4)).toEqual({
      counts: [1, 3, 1, 1],
      least: -1,
      greatest: 3,
      nonFiniteCount: 0,
    });
    expect(histogramOf(Float32Array.of(2, Number.NaN), 2)).toMatchObject({
      counts: [1, 0],
      nonFiniteCount: 1,
    });
    expect(histogramOf(Float32Array.of(Number.NaN), 2)).toMatchObject({
      counts: [0, 0],
      least: 0,
      greatest: 0,
    });
  });
});

describe.skipIf(!existsSync(executablePath))('the example page in Chromium', () => {
  let browser: Browser;
  let page: Page;
  let address: string;
  const served = new Map<string, string | Uint8Array>();
  const server = createServer((request, response) => {
    if (request.url === '/moved')
      return void response.writeHead(302, { location: '/model.safetensors' }).end();
    const content = served.get(request.url ?? '');
    if (content === undefined) return void response.writeHead(404).end();
    const type = request.url!.endsWith('.js') ? 'text/javascript' : 'text/html; charset=utf-8';
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    if (range === null) return void response.writeHead(200, { 'content-type': type }).end(content);
    const end = Math.min(Number(range[2]) + 1, content.length);
    response.writeHead(206, { 'content-range': `bytes ${range[1]}-${end - 1}/${content.length}` });
    response.end(content.slice(Number(range[1]), end));
  });

  beforeAll(async () => {
    const built = await build({
      root: join(root, 'examples/browser'),
      logLevel: 'error',
      build: { write: false, modulePreload: false },
    });
    const { output } = (Array.isArray(built) ? built[0] : built) as {
      output: readonly { fileName: string; code?: string; source?: string | Uint8Array }[];
    };
    for (const { fileName, code, source } of output) served.set(`/${fileName}`, code ?? source ?? '');
    served.set('/model.safetensors', FILE);
    // Bundled as a library, for calls that the page itself does not make.
    const library = await build({
      logLevel: 'error',
      build: {
        write: false,
        lib: { entry: join(root, 'src/browser.ts'), formats: ['es'], fileName: 'library' },
      },
    });
    const [bundle] = library as readonly { output: readonly { code?: string }[] }[];
    served.set('/library.js', bundle!.output[0]!.code!);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--headless'],
      env: browserEnvironment(),
    });
    page = await browser.newPage();
  });

  afterAll(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
  });

  // Code of the page is text here, because the rest of the package must not see DOM types.
  async function drop(bytes: Uint8Array): Promise<void> {
    await page.evaluate(`{
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([Uint8Array.of(${bytes})], 'model.safetensors'));
      document.querySelector('#drop').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }));
    }`);
  }

  function waitForText(selector: string, text: string) {
    return page.waitForFunction(
      `document.querySelector('${selector}').textContent.includes(${JSON.stringify(text)})`,
    );
  }

  it('lists the tensors of a dropped file, and plots one', async () => {
    await page.goto(`${address}/index.html`);
    await drop(FILE);
    await page.waitForSelector('#tensors tr');
    const rows = await page.$$eval('#tensors tr', (found) => found.map((row) => row.textContent));
    expect(rows).toEqual(['weightsF322 × 324', 'halfBF1624']);
    await page.click('#tensors button');
    await page.waitForSelector('#plot:not([hidden])');
    expect(await page.textContent('#caption')).toBe('weights: 6 values from -1.000 to 3.000');
    // Both bars and background.
    const opacities = await page.evaluate(`(() => {
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      return new Set(data.filter((_, index) => index % 4 === 3)).size;
    })()`);
    expect(opacities).toBeGreaterThan(1);
    await page.click('#tensors tr:nth-child(2) button');
    await waitForText('#caption', 'half');
    expect(await page.textContent('#caption')).toContain('1 not finite');
  });

  it('reports the error of another file', async () => {
    await page.goto(`${address}/index.html`);
    await drop(new TextEncoder().encode('version https://git-lfs.github.com/spec/v1\n'));
    await waitForText('#status', 'NotSafetensors');
    expect(await page.isHidden('#table')).toBe(true);
  });

  it('reads from a URL with ranges, and refuses to send a token if it cannot see redirects', async () => {
    await page.goto(`${address}/index.html`);
    const result = await page.evaluate(`(async () => {
      const library = '/library.js';
      const { openSafetensors } = await import(library);
      const open = async (path, options) => {
        try {
          return (await openSafetensors(new URL(path, location.href), options)).tensors.size;
        } catch (error) {
          return error.rule;
        }
      };
      const { tensors } = await openSafetensors(new URL('/model.safetensors', location.href), { firstRequestBytes: 16 });
      return {
        values: [...(await tensors.get('weights').readFloat32())],
        rules: [await open('/none'), await open('/moved'), await open('/moved', { token: 'hf_x' })],
      };
    })()`);
    expect(result).toEqual({ values: [...VALUES], rules: ['NotFound', 2, 'BadRedirect'] });
  });
});
