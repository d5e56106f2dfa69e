// `node tools/consumers/open-page.mjs FOLDER`: serves a folder on this machine, opens it in Chromium and prints the page's title.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const folder = path.resolve(process.argv[2] ?? '.');
const chromium = process.env.MARKBASE_CHROMIUM ?? '/usr/bin/chromium';
const server = createServer((request, response) => {
  const name = new URL(request.url ?? '/', 'http://localhost').pathname;
  const file = path.join(folder, name === '/' ? 'index.html' : name);
  const isThere = existsSync(file) && statSync(file).isFile();
  const type = file.endsWith('.html') ? 'text/html' : 'text/javascript';
  response.writeHead(isThere ? 200 : 404, { 'content-type': type });
  response.end(isThere ? readFileSync(file) : '');
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
const address = /** @type {import('node:net').AddressInfo} */ (server.address());
const profile = mkdtempSync(path.join(os.tmpdir(), 'markbase-page-'));
try {
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--virtual-time-budget=5000', '--dump-dom'];
  const page = `http://127.0.0.1:${address.port}/`;
  const { stdout } = await promisify(execFile)(chromium, [...flags, `--user-data-dir=${profile}`, page]);
  console.log(/<title>(.*?)<\/title>/s.exec(stdout)?.[1] ?? 'no title');
} finally {
  server.close();
  rmSync(profile, { recursive: true, force: true });
}
