// Line coverage of every file of the Metal backend and every kernel file, over the tests on the device metal-sim:
//   node packages/metal-sim/coverage.mjs [vitest arguments, such as a test file and -t pattern, instead of these]
// Builds the backend with counters; the kernels are also compiled with counters, and kept for later runs. Prints lines that never ran, and
// ends with one line of totals. Returns 1 if a test fails, or if a line is not reached though it could run here (tools/reach.mjs describes
// how a source marks lines that only run elsewhere).
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { kernelFiles } from '../metal-runtime/scripts/kernel-files.mjs';
import { missingTools } from './tools/clang.mjs';
import { buildTarget } from './tools/compile.mjs';
import { addLinesThatNeverCompiled, readCoverage } from './tools/coverage-report.mjs';
import { buildHostProgram, HOST_ENVIRONMENTS, HOST_PROGRAMS, runHostProgram } from './tools/host-tests.mjs';
import { describeFile, summarize } from './tools/reach.mjs';
import { addonTarget, packageRoot, runtimeRoot } from './tools/targets.mjs';

const root = path.resolve(packageRoot, '../..');
const folder = path.join(packageRoot, 'build/coverage');
const cache = path.join(folder, 'kernels');
const backend = path.join(runtimeRoot, 'native/backends/metal');
const LONGEST_RUN_MS = 900_000;
/** Features of macOS 26. */
const TENSOR = 'packages/metal-runtime/test/metal-tensor.test.ts';

const missing = missingTools();
if (missing !== null) {
  console.log(`coverage: skipped: ${missing}`);
  process.exit(0);
}
const addon = addonTarget('coverage');
const built = await buildTarget(addon);
if (!built.isOk) {
  console.error(built.message);
  process.exit(1);
}
dropOldKernels();
for (const name of readdirSync(folder)) if (/\.prof(?:raw|data)$/.test(name)) rmSync(path.join(folder, name));
const profile = { LLVM_PROFILE_FILE: path.join(folder, '%c%p-%m.profraw') };
const env = {
  ...profile,
  MARKBASE_SIM_ADDON: addon.output,
  MARKBASE_CONFORMANCE: 'brief',
  METAL_SIM_COVERAGE: folder,
  METAL_SIM_CACHE: cache,
};
const started = Date.now();
const binaries = [addon.output];
let failures = 0;

/** @param {string} name @param {boolean} isOk */
function note(name, isOk) {
  if (!isOk) failures += 1;
  const seconds = ((Date.now() - started) / 1000).toFixed(0);
  console.log(`coverage: ${name}: ${isOk ? 'ok' : 'FAILED'}, ${seconds} s since the start`);
}

/** Discards kernels that were compiled from other versions of the sources. */
function dropOldKernels() {
  const file = path.join(folder, 'sources');
  const key = createHash('sha256')
    .update(readFileSync(path.join(packageRoot, 'build/kernel_sources.cc')))
    .digest('hex');
  if (existsSync(file) && readFileSync(file, 'utf8') === key) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  writeFileSync(file, key);
}

/**
 * Runs a program; its output is shown if it fails.
 *
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<boolean>}
 */
function runs(program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      timeout: LONGEST_RUN_MS,
      env: { ...process.env, ...env },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text) => {
        output += text;
      });
    }
    child.on('close', (status) => {
      if (status !== 0) console.error(output);
      resolve(status === 0);
    });
  });
}

const chosen = process.argv.slice(2);
if (chosen.length > 0) note(chosen.join(' '), await runs('npx', ['vitest', 'run', ...chosen]));
else await runRing();

async function runRing() {
  for (const program of HOST_PROGRAMS.filter(({ isOfBackend }) => isOfBackend)) {
    const { file, error } = await buildHostProgram(program, 'coverage');
    if (error === null) binaries.push(file);
    else console.error(error);
    for (const { name, env: more } of HOST_ENVIRONMENTS) {
      // Only the host is counted: checks would report the counters of kernels as races.
      const result = error === null ? runHostProgram(program, file, { ...profile, ...more }) : null;
      if (result?.isOk === false) console.error(result.output);
      note(`host tests ${name}`, result?.isOk ?? false);
    }
  }
  note('conformance', await runs('npx', ['vitest', 'run', '--project', 'metal']));
  note('tensor operations', await runs('npx', ['vitest', 'run', TENSOR]));
  note('device', await runs('npx', ['vitest', 'run', 'packages/metal-runtime/test/metal-device.test.ts']));
  const cli = path.join(root, 'apps/playground/dist/cli.js');
  const fixture = smallestFixture();
  if (!existsSync(cli) || fixture === null)
    console.log('coverage: verify: skipped: not built, or no fixture');
  else note('verify', await runs(process.execPath, [cli, 'verify', '--device', 'metal-sim', fixture]));
}

/** The folder of the fixture with the smallest checkpoint, or null. */
function smallestFixture() {
  const all = path.join(root, 'fixtures');
  const sizes = readdirSync(all)
    .map((name) => ({ folder: path.join(all, name), file: path.join(all, name, 'model.safetensors') }))
    .filter(({ folder: at, file }) => existsSync(file) && existsSync(path.join(at, 'expected.safetensors')))
    .map(({ folder: at, file }) => ({ at, bytes: statSync(file).size }))
    .sort((a, b) => a.bytes - b.bytes);
  return sizes[0]?.at ?? null;
}

for (const name of readdirSync(cache)) if (name.endsWith('.so')) binaries.push(path.join(cache, name));
const counts = readCoverage(folder, binaries);
const sources = [
  ...readdirSync(backend).map((name) => ({
    part: 'host',
    name,
    file: path.join(backend, name),
    key: path.join(backend, name),
  })),
  ...kernelFiles().map((file) => ({
    part: 'kernels',
    name: path.basename(file),
    file,
    key: path.basename(file),
  })),
];
const rows = [];
for (const { part, name, file, key } of sources) {
  const text = readFileSync(file, 'utf8');
  const lines = counts.get(key) ?? new Map();
  if (part === 'kernels') addLinesThatNeverCompiled(lines, text);
  if (lines.size > 0) rows.push({ part, ...describeFile(name, text, lines) });
}
for (const part of ['host', 'kernels']) {
  console.log(`\n${part}`);
  for (const row of rows) if (row.part === part) console.log(row.text);
}
console.log('\nonly elsewhere');
const elsewhere = rows.flatMap((row) => row.elsewhere);
for (const line of elsewhere.length > 0 ? elsewhere : ['  nothing: every line of these files can run here'])
  console.log(line);
const { line, missed } = summarize(rows);
console.log(
  `\ncoverage: ${line}${failures > 0 ? `, ${failures} runs failed` : ''}, ${((Date.now() - started) / 1000).toFixed(0)} s`,
);
process.exitCode = failures > 0 || missed > 0 ? 1 : 0;
