// `node tools/rehearse-release.mjs [--keep]`: publishes the whole release into a registry on this machine, and installs it from there.
// A clone of this checkout's commit gets the versions and changelogs of its changesets; what is built here is published from it, with
// the command of the release workflow. Addons of other platforms are missing. Then an empty project installs the packages and answers a
// prompt. The registry is verdaccio, only on the loopback address; it passes requests for other packages on to the user's own registry.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { must, repositoryRoot } from './lib/process.mjs';
import { publishedPackages } from './lib/workspace.mjs';

const root = mkdtempSync(path.join(os.tmpdir(), 'markbase-release-'));
const checkout = path.join(root, 'checkout');
const project = path.join(root, 'project');
const PROMPT = 'Tell me a story about a fox.';
/** `changeset tag` makes tags in the clone. */
const COMMITTER = { GIT_COMMITTER_NAME: 'rehearsal', GIT_COMMITTER_EMAIL: 'rehearsal@localhost' };
/** verdaccio 6.8 does not install with the newest node-fetch. */
const REGISTRY = { dependencies: { verdaccio: '6.8.0' }, overrides: { 'node-fetch': '2.7.0' } };

/** @type {import('node:child_process').ChildProcess | null} */
let server = null;
try {
  const { address, environment } = await startRegistry();
  prepareCheckout();
  must('npx', ['-y', 'pnpm@10.34.9', 'release'], {
    cwd: checkout,
    env: { ...environment, ...COMMITTER },
  });
  const published = await publishedAt(address);
  console.log(['| published | version | at |', '|---|---|---|', ...published.map(rowOf), ''].join('\n'));
  checkOrder(published);
  mkdirSync(project);
  writeFileSync(path.join(project, 'package.json'), '{"private":true}');
  const wanted = ['@markbase/playground', '@markbase/gemma', '@markbase/demo-model'];
  must('npm', ['install', '--no-audit', '--no-fund', ...wanted], { cwd: project, env: environment });
  const model = 'node_modules/@markbase/demo-model/model';
  console.log(must('npx', ['markbase', 'doctor'], { cwd: project, env: environment }));
  console.log(
    must('npx', ['markbase', 'generate', '--model', model, '--prompt', PROMPT], {
      cwd: project,
      env: environment,
    }),
  );
} finally {
  end(server);
  if (process.argv.includes('--keep')) console.log(`kept: ${root}`);
  else rmSync(root, { recursive: true, force: true });
}

/** @param {import('node:child_process').ChildProcess | null} child */
function end(child) {
  child?.kill();
}

/** Starts verdaccio and makes a user who may publish. */
async function startRegistry() {
  const folder = path.join(root, 'registry');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ private: true, ...REGISTRY }));
  must('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder });
  const upstream = must('npm', ['config', 'get', 'registry'], { cwd: folder }).trim();
  const config = {
    storage: path.join(folder, 'storage'),
    auth: { htpasswd: { file: path.join(folder, 'users'), max_users: 1 } },
    uplinks: { upstream: { url: upstream } },
    packages: {
      '@markbase/*': { access: '$all', publish: '$authenticated' },
      '**': { access: '$all', proxy: 'upstream' },
    },
    max_body_size: '100mb',
    log: { type: 'file', path: path.join(folder, 'log'), level: 'warn' },
  };
  // YAML reads JSON.
  writeFileSync(path.join(folder, 'config.yaml'), JSON.stringify(config));
  const port = await freePort();
  const address = `http://127.0.0.1:${port}/`;
  const program = path.join(folder, 'node_modules/verdaccio/bin/verdaccio');
  const args = [program, '--config', path.join(folder, 'config.yaml'), '--listen', `127.0.0.1:${port}`];
  server = spawn(process.execPath, args, { stdio: 'ignore' });
  const token = await signUp(address);
  const settings = path.join(folder, 'npmrc');
  writeFileSync(settings, `//127.0.0.1:${port}/:_authToken=${token}\n`);
  const cache = path.join(root, 'cache');
  const environment = {
    npm_config_registry: address,
    npm_config_userconfig: settings,
    npm_config_cache: cache,
  };
  return { address, environment };
}

/** @param {string} address @returns {Promise<string>} */
async function signUp(address) {
  const body = JSON.stringify({ name: 'release', password: 'only on this machine' });
  const headers = { 'content-type': 'application/json' };
  for (let tries = 0; tries < 100; ++tries) {
    await sleep(200);
    const response = await fetch(`${address}-/user/org.couchdb.user:release`, {
      method: 'PUT',
      headers,
      body,
    }).catch(() => null);
    if (response?.ok) return /** @type {any} */ (await response.json()).token;
  }
  throw new Error(`no registry answers at ${address}`);
}

/** A clone with the next versions, and what is built here. */
function prepareCheckout() {
  must('git', ['clone', '--quiet', repositoryRoot, checkout], { cwd: root });
  must('npx', ['-y', 'pnpm@10.34.9', 'install', '--frozen-lockfile', '--prefer-offline'], { cwd: checkout });
  must('npx', ['-y', 'pnpm@10.34.9', 'version-packages'], { cwd: checkout });
  must(process.execPath, ['tools/pack-native.mjs']);
  must(process.execPath, ['tools/pack-ptx.mjs']);
  const platform = `packages/metal-runtime/npm/${process.platform}-${process.arch}`;
  const built = publishedPackages().map(({ folder }) =>
    path.join(path.relative(repositoryRoot, folder), 'dist'),
  );
  const shared = ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'];
  const copies = shared.map((name) => `packages/demo-model/model-moe/${name}`);
  for (const name of [...built, ...copies, `${platform}/markbase.node`, `${platform}/ptx`]) {
    const source = path.join(repositoryRoot, name);
    if (existsSync(source)) cpSync(source, path.join(checkout, name), { recursive: true });
  }
}

/** @typedef {{ name: string, version: string, at: string, dependencies: string[] }} Published */

/** What the registry has, oldest first. @param {string} address @returns {Promise<Published[]>} */
async function publishedAt(address) {
  const entries = await Promise.all(
    publishedPackages().map(async ({ name }) => {
      const data = /** @type {any} */ (await (await fetch(`${address}${name.replace('/', '%2f')}`)).json());
      const version = data['dist-tags']?.latest;
      if (version === undefined) throw new Error(`${name} was not published`);
      const { dependencies = {}, optionalDependencies = {} } = data.versions[version];
      const needed = Object.keys({ ...dependencies, ...optionalDependencies });
      return { name, version, at: data.time[version], dependencies: needed };
    }),
  );
  return entries.sort((a, b) => (a.at < b.at ? -1 : 1));
}

/** No package may appear before one that it depends on. @param {Published[]} published */
function checkOrder(published) {
  const names = published.map(({ name }) => name);
  for (const [index, { name, dependencies }] of published.entries()) {
    const later = names.slice(index).filter((other) => dependencies.includes(other));
    if (later.length > 0) throw new Error(`${name} was published before ${later.join(', ')}`);
  }
  console.log('in order: nothing was published before what it depends on');
}

/** @param {Published} published */
function rowOf({ name, version, at }) {
  return `| ${name} | ${version} | ${at.slice(11, 23)} |`;
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}
