// What must hold outside requests: a hub that lies, hundreds of devices, threads and processes that are killed.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { downloadCheckpoint } from '../../packages/loader/dist/index.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CLI = path.join(ROOT, 'apps/playground/dist/cli.js');
const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const CONTENT = Buffer.alloc(200_000, 7);

/** How a hub answers for the weights instead of with them. */
const LIES = {
  'a wrong hash': ({ response }) => response.end(Buffer.alloc(CONTENT.length, 8)),
  'more bytes': ({ response }) => response.end(Buffer.concat([CONTENT, CONTENT])),
  'fewer bytes': ({ response }) =>
    response.writeHead(200, { 'content-length': 9 }).end(CONTENT.subarray(0, 9)),
  'another range': ({ response }) =>
    response.writeHead(206, { 'content-range': `bytes 5-199999/200000` }).end(CONTENT.subarray(5)),
  'a compressed file': ({ response }) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(CONTENT),
  'a circle of redirects': ({ request, response }) =>
    response.writeHead(302, { location: request.url }).end(),
  'a redirect to a file': ({ response }) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  'a broken connection': ({ response }) => response.destroy(),
  silence: () => {},
};

/** Downloads from a hub that lies about a file; returns the lies that were not refused. */
async function hubLies(folder, count) {
  const accepted = [];
  const names = Object.keys(LIES).slice(0, count);
  for (const [index, name] of names.entries()) {
    const hub = createServer((request, response) => answer(request, response, LIES[name]));
    await new Promise((resolve) => hub.listen(0, '127.0.0.1', resolve));
    const cacheDir = path.join(folder, `hub-${index}`);
    const options = {
      endpoint: `http://127.0.0.1:${hub.address().port}`,
      cacheDir,
      token: null,
      maxRetries: 1,
      retryDelayMs: 10,
      stallTimeoutMs: 500,
    };
    const error = await downloadCheckpoint('org/name', options).then(
      () => null,
      (cause) => cause,
    );
    if (error?.code !== 'DOWNLOAD' || existsSync(path.join(cacheDir, 'models--org--name/refs/main')))
      accepted.push(`${name}: ${error?.message ?? 'accepted'}`);
    hub.closeAllConnections();
    hub.close();
  }
  return { name: `${names.length} lies of a hub`, failures: accepted };
}

function answer(request, response, lie) {
  const config = Buffer.from('{}');
  if (request.url.startsWith('/api/')) {
    const siblings = [entryOf('config.json', config), entryOf('model.safetensors', CONTENT)];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: 'org/name', sha: COMMIT, siblings }));
  } else if (request.url.endsWith('/config.json')) response.end(config);
  else lie({ request, response });
}

function entryOf(rfilename, content) {
  const size = content.length;
  const blobId = createHash('sha1').update(`blob ${size}\0`).update(content).digest('hex');
  if (!rfilename.endsWith('.safetensors')) return { rfilename, size, blobId };
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { rfilename, size, blobId, lfs: { sha256, size, pointerSize: 134 } };
}

/** Runs a script of this folder in a separate process. */
function script(name, file, count) {
  const location = fileURLToPath(new URL(file, import.meta.url));
  const { status, signal, stderr } = spawnSync(process.execPath, [location, `${count}`], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  const isGood = status === 0 && stderr === '';
  return { name, failures: isGood ? [] : [`status ${status ?? signal}: ${stderr.slice(0, 300)}`] };
}

/** Kills a command that writes a folder at different moments; afterwards it has to complete with the same files. */
async function killed(name, argumentsFor, folder, kills) {
  const failures = [];
  const run = (target) => spawn(process.execPath, [CLI, ...argumentsFor(target)], { stdio: 'ignore' });
  const ended = (child) => new Promise((resolve) => child.on('exit', resolve));
  const whole = path.join(folder, `${name}-whole`);
  const began = performance.now();
  await ended(run(whole));
  const wholeMs = performance.now() - began;
  const expected = digests(whole);
  const target = path.join(folder, `${name}-killed`);
  for (let kill = 0; kill < kills; kill++) {
    const child = run(target);
    const over = ended(child);
    await wait(wholeMs * (0.4 + (0.6 * (kill + 1)) / (kills + 1)));
    child.kill('SIGKILL');
    await over;
    for (const [file, digest] of digests(target))
      if (expected.get(file) !== digest) failures.push(`${file} is not whole after a kill`);
  }
  const status = await ended(run(target));
  // A run that was complete before it was killed may be refused.
  const isSame = JSON.stringify([...digests(target)]) === JSON.stringify([...expected]);
  if (!isSame) failures.push(`status ${status}, and other files than an undisturbed run`);
  return { name: `${kills} × kill -9 of ${name}`, failures };
}

function digests(folder) {
  if (!existsSync(folder)) return new Map();
  const names = readdirSync(folder).filter((name) => !name.startsWith('.'));
  return new Map(
    names.sort().map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(path.join(folder, name)))
        .digest('hex'),
    ]),
  );
}

/** Runs everything; each result has what went wrong. @param {{ isSample: boolean }} options */
export async function runProcessAttacks({ isSample }) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'markbase-attack-'));
  try {
    const source = path.join(folder, 'source');
    const tiny = ['--variant', 'e2b', '--tiny'];
    spawnSync(process.execPath, [CLI, 'synth', ...tiny, '--bits', '16', '--out', source]);
    const [devices, workers, kills, lies] = isSample ? [20, 4, 1, 4] : [200, 24, 5, 9];
    return [
      await hubLies(folder, lies),
      script(`${devices} devices`, 'many-devices.mjs', devices),
      script(`${workers} terminated workers`, 'ended-workers.mjs', workers),
      await killed('quantize', (target) => ['quantize', source, target], folder, kills),
      await killed('synth', (target) => ['synth', ...tiny, '--out', target], folder, kills),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
