// Line coverage of the GPU backends, the plans of families and every kernel file, over the stand-ins for Metal and NVIDIA's driver:
//   node packages/metal-sim/coverage.mjs [vitest arguments, such as a test file and -t pattern, instead of all that cover]
// Builds the backends with counters; the kernels are compiled with counters as well, and kept from one run to the next. Prints
// what never ran, and ends with one line of totals. Returns 1 when a test fails, or when a line is neither reached nor one
// that only another system reaches (tools/reach.mjs says how a source tells).
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { addCounts, writeReport } from '../../tools/lib/report.mjs';
import { countVitest } from '../../tools/lib/vitest-counts.mjs';
import { kernelFiles } from '../metal-runtime/scripts/kernel-files.mjs';
import { missingTools } from './tools/clang.mjs';
import { buildTarget } from './tools/compile.mjs';
import { addLinesThatNeverCompiled, readCoverage } from './tools/coverage-report.mjs';
import { buildHostProgram, CUDA_ENVIRONMENT, HOST_PROGRAMS, runHostProgram } from './tools/host-tests.mjs';
import { describeFile, summarize } from './tools/reach.mjs';
import { addonTarget, packageRoot, runtimeRoot } from './tools/targets.mjs';

const root = path.resolve(packageRoot, '../..');
const folder = path.join(packageRoot, 'build/coverage');
const cache = path.join(folder, 'kernels');
const LONGEST_RUN_MS = 900_000;
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
  ...CUDA_ENVIRONMENT,
  MARKBASE_ADDON: addon.output,
  MARKBASE_SIM_ADDON: addon.output,
  METAL_SIM_COVERAGE: folder,
  METAL_SIM_CACHE: cache,
};
const started = Date.now();
const binaries = [addon.output];
let failures = 0;
/** @type {import('../../tools/lib/report.mjs').Counts[]} */
const tests = [];

/** @param {string} name @param {boolean} isOk */
function note(name, isOk) {
  if (!isOk) failures += 1;
  const seconds = ((Date.now() - started) / 1000).toFixed(0);
  console.log(`coverage: ${name}: ${isOk ? 'ok' : 'FAILED'}, ${seconds} s since the start`);
}

/** Discards kernels that were compiled from other versions of the sources. */
function dropOldKernels() {
  const file = path.join(folder, 'sources');
  const hash = createHash('sha256');
  for (const name of ['kernel_sources.cc', 'nvidia_kernel_sources.cc'])
    hash.update(readFileSync(path.join(packageRoot, 'build', name)));
  const key = hash.digest('hex');
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
    for (const { name, env: more } of program.environments) {
      // Only the host is counted: checks would take the counters of kernels for races.
      const result = error === null ? runHostProgram(program, file, { ...profile, ...more }) : null;
      if (result?.isOk === false) console.error(result.output);
      note(`${program.name} ${name}`, result?.isOk ?? false);
    }
  }
  await runCounted('conformance', ['--project', 'metal', '--project', 'cuda']);
  // The programs of gpu-faults.test.ts ran above, with counters.
  await runCounted('devices', ['--project', 'gpu', '--exclude', '**/gpu-faults.test.ts']);
  const cli = path.join(root, 'apps/playground/dist/cli.js');
  const fixture = smallestFixture();
  if (!existsSync(cli) || fixture === null)
    console.log('coverage: verify: skipped: not built, or no fixture');
  else note('verify', await runs(process.execPath, [cli, 'verify', '--device', 'metal-sim', fixture]));
}

/**
 * Runs tests whose counts go into the report.
 *
 * @param {string} name @param {readonly string[]} args
 */
async function runCounted(name, args) {
  const file = path.join(folder, `${name}.json`);
  rmSync(file, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const isOk = await runs('npx', ['vitest', 'run', ...reporters, ...args]);
  tests.push(countVitest(existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null, isOk ? 0 : 1));
  note(name, isOk);
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
/** Sources of a part, which the counts know by their names or, of kernels, by their base names. @param {string} part @param {string[]} files */
const sourcesOf = (part, files) =>
  files.map((file) => ({ part, file, key: part.startsWith('kernels') ? path.basename(file) : file }));
const backends = path.join(runtimeRoot, 'native/backends');
const filesOf = (/** @type {string} */ folder) => readdirSync(folder).map((name) => path.join(folder, name));
const families = path.join(runtimeRoot, 'families');
const metalKernels = new Set(kernelFiles());
const sources = [
  ...['metal', 'gpu', 'cuda'].flatMap((name) =>
    sourcesOf(`backends/${name}`, filesOf(path.join(backends, name))),
  ),
  ...sourcesOf(
    'checks and plans of families',
    readdirSync(families)
      .filter((name) => !name.includes('.'))
      .flatMap((name) => filesOf(path.join(families, name)))
      .filter((file) => /^(?:check|plan)\w*\.(?:cc|h)$/.test(path.basename(file))),
  ),
  ...sourcesOf('kernels', [...metalKernels]),
  ...sourcesOf(
    'kernels for NVIDIA GPUs',
    kernelFiles({ withNvidia: true }).filter((file) => !metalKernels.has(file)),
  ),
];
const rows = [];
for (const { part, file, key } of sources) {
  const text = readFileSync(file, 'utf8');
  const lines = counts.get(key) ?? new Map();
  if (part.startsWith('kernels')) addLinesThatNeverCompiled(lines, text);
  if (lines.size > 0) rows.push({ part, ...describeFile(path.relative(runtimeRoot, file), text, lines) });
}
for (const part of new Set(rows.map((row) => row.part))) {
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
const isComplete = failures === 0 && missed === 0;
writeReport(
  'coverage',
  addCounts([...tests, { passed: isComplete ? 1 : 0, failed: isComplete ? 0 : 1, skipped: 0 }]),
);
process.exitCode = isComplete ? 0 : 1;
