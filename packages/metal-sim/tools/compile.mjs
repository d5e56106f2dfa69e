// Compiles changed sources and links them. One object per source and set of flags; dependencies come from the compiler.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { CLANG } from './clang.mjs';
import { packageRoot } from './targets.mjs';

const LONGEST_BUILD_MS = 600_000;
const COMMON_HEADERS = path.join(packageRoot, 'native/common_headers.h');
/** Fewer sources compile faster without it. */
const FEWEST_FOR_PRECOMPILED = 5;

/**
 * @param {string[]} args
 * @returns {Promise<{isOk: boolean, output: string}>}
 */
function runClang(args) {
  return new Promise((resolve) => {
    const child = spawn(CLANG, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (text) => {
      output += text;
    });
    child.stderr.on('data', (text) => {
      output += text;
    });
    child.on('close', (code) => resolve({ isOk: code === 0, output }));
  });
}

/** @param {string} file */
function modified(file) {
  return existsSync(file) ? statSync(file).mtimeMs : Number.POSITIVE_INFINITY;
}

/** The dependencies of an object, as written by the compiler. @param {string} file */
function dependencies(file) {
  if (!existsSync(file)) return null;
  const text = readFileSync(file, 'utf8').replaceAll('\\\n', ' ');
  return text
    .slice(text.indexOf(':') + 1)
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** @param {string} object @param {string} dependencyFile */
function isFresh(object, dependencyFile) {
  if (!existsSync(object)) return false;
  const made = statSync(object).mtimeMs;
  const sources = dependencies(dependencyFile);
  return sources?.every((source) => modified(source) <= made) ?? false;
}

/**
 * @param {import('./targets.mjs').Unit} unit
 * @param {string} folder
 */
function objectOf(unit, folder) {
  const key = createHash('sha256')
    .update(unit.source)
    .update('\0')
    .update(unit.flags.join('\0'))
    .digest('hex');
  return path.join(folder, `${path.basename(unit.source)}.${key.slice(0, 12)}.o`);
}

/** Units with the same key can share precompiled headers. @param {import('./targets.mjs').Unit} unit */
function precompiledKey({ source, flags }) {
  return createHash('sha256')
    .update(path.extname(source))
    .update(flags.join('\0'))
    .digest('hex')
    .slice(0, 12);
}

/**
 * Precompiles the common headers for every set of flags that enough units have.
 *
 * @param {readonly import('./targets.mjs').Unit[]} units
 * @param {string} folder
 * @returns {Promise<Map<string, string>>} The files by their keys.
 */
async function precompile(units, folder) {
  /** @type {Map<string, string>} */
  const files = new Map();
  const keys = units.map(precompiledKey);
  for (const [i, first] of units.entries()) {
    const key = /** @type {string} */ (keys[i]);
    if (keys.indexOf(key) !== i || keys.filter((each) => each === key).length < FEWEST_FOR_PRECOMPILED)
      continue;
    const file = path.join(folder, `common_headers.${key}.pch`);
    if (!isFresh(file, `${file}.d`)) {
      const language = first.source.endsWith('.mm') ? 'objective-c++-header' : 'c++-header';
      const partial = `${file}.${process.pid}.tmp`;
      const args = [...first.flags, '-MD', '-MF', `${file}.d`, '-x', language, COMMON_HEADERS, '-o', partial];
      const { isOk } = await runClang(args);
      // The units themselves will tell what is wrong.
      if (!isOk) continue;
      renameSync(partial, file);
    }
    files.set(key, file);
  }
  return files;
}

/**
 * Builds a target; processes that build into the same folder wait for each other.
 *
 * @param {import('./targets.mjs').Target} target
 * @returns {Promise<{isOk: boolean, compiled: number, message: string}>}
 */
export async function buildTarget(target) {
  mkdirSync(target.objects, { recursive: true });
  const lock = path.join(target.objects, 'lock');
  while (!takeLock(lock)) await setTimeout(100);
  try {
    return await build(target);
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** False while another process holds the lock; the lock of a killed process expires after ten minutes. @param {string} folder */
function takeLock(folder) {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    if (existsSync(folder) && Date.now() - statSync(folder).mtimeMs > LONGEST_BUILD_MS)
      rmSync(folder, { recursive: true });
    return false;
  }
}

/**
 * @param {import('./targets.mjs').Target} target
 * @returns {Promise<{isOk: boolean, compiled: number, message: string}>}
 */
async function build(target) {
  mkdirSync(path.dirname(target.output), { recursive: true });
  const objects = target.units.map((unit) => objectOf(unit, target.objects));
  const stale = target.units.filter((unit) => {
    const object = objectOf(unit, target.objects);
    return !isFresh(object, `${object}.d`);
  });
  /** @type {string[]} */
  const failures = [];
  const queue = [...stale];
  const headers = await precompile(stale, target.objects);
  const worker = async () => {
    for (let unit = queue.shift(); unit !== undefined && failures.length === 0; unit = queue.shift()) {
      const object = objectOf(unit, target.objects);
      const partial = `${object}.${process.pid}.tmp`;
      const header = headers.get(precompiledKey(unit));
      const common = header === undefined ? [] : ['-include-pch', header];
      const args = [...unit.flags, ...common, '-MD', '-MF', `${object}.d`, '-c', unit.source, '-o', partial];
      const { isOk, output } = await runClang(args);
      if (isOk) renameSync(partial, object);
      else failures.push(output);
    }
  };
  const jobs = Number(process.env.CMAKE_BUILD_PARALLEL_LEVEL ?? os.availableParallelism());
  await Promise.all(Array.from({ length: jobs }, worker));
  if (failures.length > 0) return { isOk: false, compiled: 0, message: failures.join('\n') };
  const newest = Math.max(...objects.map(modified));
  if (stale.length > 0 || modified(target.output) < newest || !existsSync(target.output)) {
    const partial = `${target.output}.${process.pid}.tmp`;
    const { isOk, output } = await runClang([...objects, ...target.link, '-o', partial]);
    if (!isOk) return { isOk: false, compiled: stale.length, message: output };
    renameSync(partial, target.output);
  }
  return { isOk: true, compiled: stale.length, message: '' };
}
