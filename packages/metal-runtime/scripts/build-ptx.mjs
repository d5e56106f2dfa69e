// Compiles the kernels to PTX for NVIDIA GPUs: `node scripts/build-ptx.mjs [--strict] [--assemble]` → build/ptx/<architecture>/<kernel>.ptx
// and build/ptx/kernels.json, the parameters of every kernel. Only changed kernels are recompiled. It needs clang-19 but no CUDA toolkit;
// without clang-19 it prints a note or, with --strict, fails. --assemble gets register counts from ptxas, which takes a minute.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareCheck } from '../../metal-sim/tools/check.mjs';
import { missingTools } from '../../metal-sim/tools/clang.mjs';
import { ARCHITECTURES, compilerHash, compileToPtx, deviceSource } from '../../metal-sim/tools/ptx.mjs';
import { usesTensors } from '../../metal-sim/tools/stage.mjs';
import { BuildError } from '../../metal-sim/tools/targets.mjs';
import { metalFiles, sourceName } from './kernel-files.mjs';
import { assemble, describePtx, findAssembler, finishPtx, splitPtx, usesWarpgroups } from './ptx-text.mjs';

/** Increase it when the meaning of entries, their parameters or their files changes; the host accepts only this version. */
const ABI = 2;

/** Increase it when finishPtx changes. */
const TEXT = '2';

const packageRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const output = path.join(packageRoot, 'build/ptx');
const architectures = /** @type {import('../../metal-sim/tools/ptx.mjs').Architecture[]} */ (
  Object.keys(ARCHITECTURES)
);

/** @param {string} file @param {string} text */
function writeWhole(file, text) {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(`${file}.${process.pid}.tmp`, text);
  renameSync(`${file}.${process.pid}.tmp`, file);
}

/** A source without its line markers, so that it gives the same PTX in any checkout. @param {string} source */
function withoutPlaces(source) {
  return source.replace(/^# \d+ .*$/gm, '').replace(/\n\s*\n/g, '\n');
}

/** @param {string} architecture @param {string} kernel */
const fileOf = (architecture, kernel) => path.join(output, architecture, `${kernel}.ptx`);

/**
 * Writes the PTX of one source for one architecture, one file per kernel; existing files stay if nothing changed. True if something was
 * written.
 *
 * @param {string} name
 * @param {import('../../metal-sim/tools/ptx.mjs').DeviceSource} device
 * @param {import('../../metal-sim/tools/ptx.mjs').Architecture} architecture
 * @param {string} compiler
 */
async function compile(name, { source, entries }, architecture, compiler) {
  const key = createHash('sha256')
    .update(TEXT)
    .update(compiler)
    .update(architecture)
    .update(withoutPlaces(source))
    .digest('hex')
    .slice(0, 32);
  const files = Object.keys(entries).map((kernel) => ({
    kernel,
    file: fileOf(architecture, kernel),
    head: `// markbase: kernel=${kernel} arch=${architecture} abi=${ABI} source=${name}.metal\n// ${key}\n`,
  }));
  const isKnown = files.every(
    ({ file, head }) => existsSync(file) && readFileSync(file, 'utf8').startsWith(head),
  );
  if (isKnown) return false;
  const texts = splitPtx(await compileToPtx(source, architecture));
  for (const { kernel, file, head } of files) {
    if (texts[kernel] === undefined) throw new BuildError(`${name}.metal: no PTX of ${kernel}`);
    writeWhole(file, head + finishPtx(texts[kernel], kernel, architecture));
  }
  return true;
}

/** Runs tasks, one per processor at a time. @param {(() => Promise<void>)[]} tasks */
async function runAll(tasks) {
  const jobs = Number(process.env.CMAKE_BUILD_PARALLEL_LEVEL ?? os.availableParallelism());
  const queue = [...tasks];
  const worker = async () => {
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) await task();
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

/** The architectures that a source is compiled for. @param {string} source @returns {typeof architectures} */
const targetsOf = (source) => (usesWarpgroups(source) ? ['sm_90'] : architectures);

/** Sorted by name, regardless of the order of completion. @template T @param {Record<string, T>} record */
function sorted(record) {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Removes the PTX of kernels that no longer exist. @param {Set<string>} kernels */
function removeOthers(kernels) {
  for (const architecture of architectures) {
    const folder = path.join(output, architecture);
    for (const file of existsSync(folder) ? readdirSync(folder) : []) {
      if (!kernels.has(path.basename(file, '.ptx'))) rmSync(path.join(folder, file));
    }
  }
}

/**
 * Describes a kernel by its PTX for every architecture.
 *
 * @param {string} kernel
 * @param {import('../../metal-sim/tools/ptx.mjs').DeviceSource['entries'][string]} entry
 * @param {typeof architectures} targets
 * @param {string | null} assembler
 */
async function describe(kernel, { buffers, hasDynamicShared }, targets, assembler) {
  /** @type {import('../../metal-sim/tools/ptx.mjs').Kernel} */
  const described = { parameters: [], sharedBytes: 0, hasDynamicShared };
  if (targets.length < architectures.length) described.architectures = targets;
  /** @type {Record<string, number>} */
  const registers = {};
  for (const architecture of targets) {
    const file = fileOf(architecture, kernel);
    const { bytes, sharedBytes } = describePtx(readFileSync(file, 'utf8'));
    if (bytes.length !== buffers.length) {
      throw new BuildError(`${kernel}: ${bytes.length} parameters in PTX, ${buffers.length} in Metal`);
    }
    described.parameters = buffers.map((buffer, i) => ({ ...buffer, bytes: bytes[i] ?? 0 }));
    described.sharedBytes = Math.max(described.sharedBytes, sharedBytes);
    if (assembler !== null)
      registers[architecture] = (await assemble(assembler, file, architecture)).registers;
  }
  return assembler === null ? described : { ...described, registers };
}

async function build() {
  await prepareCheck();
  const compiler = compilerHash();
  const assembler = process.argv.includes('--assemble') ? findAssembler() : null;
  // PTX lacks the tensor operations of Metal 4, and no plan names their kernels: Metal substitutes them for others.
  const files = metalFiles({ withNvidia: true }).filter((file) => !usesTensors(file));
  let compiled = 0;
  /** @type {Record<string, Record<string, Awaited<ReturnType<typeof describe>>>>} */
  const sources = {};
  await runAll(
    files.map((file) => async () => {
      const name = sourceName(file);
      const device = deviceSource(file);
      const targets = targetsOf(device.source);
      for (const architecture of targets) {
        const isNew = await compile(name, device, architecture, compiler);
        compiled += isNew ? 1 : 0;
      }
      /** @type {typeof sources[string]} */
      const table = {};
      for (const [kernel, entry] of Object.entries(device.entries)) {
        table[kernel] = await describe(kernel, entry, targets, assembler);
      }
      sources[name] = table;
    }),
  );
  const made = Object.values(sources).flatMap((table) => Object.keys(table));
  removeOthers(new Set(made));
  writeWhole(
    path.join(output, 'kernels.json'),
    `${JSON.stringify({ abi: ABI, architectures, sources: sorted(sources) })}\n`,
  );
  return `${made.length} kernels for ${architectures.join(' and ')}, ${compiled} compilations`;
}

const missing = missingTools();
if (missing !== null) {
  console.log(`build/ptx: skipped, so this build has no CUDA kernels: ${missing}`);
  if (process.argv.includes('--strict')) process.exitCode = 1;
} else {
  const started = Date.now();
  try {
    const done = await build();
    console.log(`build/ptx: ${done} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(`${error.name}: ${error.message}`);
    process.exitCode = 1;
  }
}
