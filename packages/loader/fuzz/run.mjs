// The long run of the fuzzer: `node fuzz/run.mjs [--seconds 3600] [--seed 1] [--fixtures folder]`.
// Exit code 0: no finding. Files with findings are written to `fuzz/build/findings`.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { instrument } from './instrument.mjs';

const HANG_MS = 20_000;
const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3600' },
    seed: { type: 'string', default: '1' },
    fixtures: { type: 'string', default: join(root, '../../fixtures') },
  },
});
const build = join(root, 'fuzz/build', `seed-${values.seed}`);
rmSync(build, { recursive: true, force: true });
const isCounted = (path) => path.includes('/src/safetensors/') || path.includes('/src/sources/');
const { branchCount, entry } = instrument(root, join(root, 'fuzz/worker.ts'), build, isCounted);

const started = new Date();
const current = new SharedArrayBuffer(8 + 65536);
const task = { seed: Number(values.seed), seconds: Number(values.seconds), fixtures: values.fixtures };
const worker = new Worker(entry, { workerData: { ...task, branchCount, current } });
const log = (fields) => console.log(JSON.stringify({ time: new Date().toISOString(), ...fields }));

let count = -1;
const watch = setInterval(() => {
  const [length, files] = new Int32Array(current, 0, 2);
  if (files === count) finish({ findings: [{ finding: 'it never ends', file: currentFile(length) }] });
  count = files;
}, HANG_MS);

worker.on('message', ({ kind, state }) =>
  kind === 'progress' ? log({ branchCount, ...state }) : finish(state),
);
worker.on('error', (error) => {
  const file = currentFile(new Int32Array(current, 0, 1)[0]);
  finish({ findings: [{ finding: `a crash: ${error.stack}`, file }] });
});

function currentFile(length) {
  return new Uint8Array(current.slice(8, 8 + length));
}

function finish({ findings, ...state }) {
  clearInterval(watch);
  const folder = join(root, 'fuzz/build/findings');
  if (findings.length > 0) mkdirSync(folder, { recursive: true });
  for (const [index, { finding, file }] of findings.entries()) {
    const path = join(folder, `seed-${values.seed}-${index}.safetensors`);
    writeFileSync(path, file);
    log({ finding, path });
  }
  const seconds = Math.round((Date.now() - started.getTime()) / 1000);
  log({ started: started.toISOString(), seconds, ...task, branchCount, ...state, findings: findings.length });
  process.exit(findings.length > 0 ? 1 : 0);
}
