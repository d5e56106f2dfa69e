// Metal kernels as PTX for NVIDIA GPUs: the preprocessor, the rewriter, and clang's CUDA mode without the CUDA toolkit.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { CLANG } from './clang.mjs';
import { pipe, stage } from './stage.mjs';
import { BuildError, checkTarget, packageRoot } from './targets.mjs';

/** Target architectures, and the PTX version that each needs: a lower version supports older drivers. */
export const ARCHITECTURES = { sm_80: 'ptx70', sm_90: 'ptx78' };

/**
 * @typedef {keyof typeof ARCHITECTURES} Architecture
 * @typedef {{index: number, kind: 'value' | 'pointer', bytes: number}} Parameter
 * @typedef {{parameters: Parameter[], sharedBytes: number, hasDynamicShared: boolean, architectures?: Architecture[]}} Kernel
 * @typedef {{source: string, entries: Record<string, {buffers: {index: number, kind: 'value' | 'pointer'}[], hasDynamicShared: boolean}>}} DeviceSource
 */

/** Every operation rounds separately, in source order; arrays become registers, so loops over them are unrolled. */
const FLAGS = [
  ...['-cc1', '-triple', 'nvptx64-nvidia-cuda', '-aux-triple', 'x86_64-unknown-linux-gnu'],
  ...[
    '-x',
    'cuda',
    '-fcuda-is-device',
    '-target-sdk-version=11.8',
    '-S',
    '-O3',
    '-std=c++17',
    '-nobuiltininc',
    '-w',
  ],
  ...['-fno-rtti', '-fno-threadsafe-statics', '-relaxed-aliasing', '-ffp-contract=on'],
  ...['-ffloat16-excess-precision=none', '-fbfloat16-excess-precision=none'],
  ...['-mllvm', '-unroll-threshold=1500'],
];

/**
 * The C++ generated from a kernel file, and the parameters of its entries. Call `prepareCheck` first, which builds the rewriter.
 *
 * @param {string} file
 * @returns {DeviceSource}
 */
export function deviceSource(file) {
  const staged = stage(file, ['-DMARKBASE_NVIDIA=1']);
  if (!staged.isOk) throw new BuildError(staged.message);
  const rewritten = pipe(checkTarget().output, ['--ptx'], staged.output);
  if (!rewritten.isOk) throw new BuildError(rewritten.message);
  /** @type {DeviceSource['entries']} */
  const entries = {};
  for (const [, name = '', words = ''] of rewritten.output.matchAll(/^\/\/! (\w+)(.*)$/gm)) {
    const buffers = [...words.matchAll(/(\d+):(value|pointer)/g)].map(([, index, kind]) => ({
      index: Number(index),
      kind: kind === 'value' ? /** @type {const} */ ('value') : /** @type {const} */ ('pointer'),
    }));
    entries[name] = { buffers, hasDynamicShared: words.endsWith(' threadgroup') };
  }
  return { source: rewritten.output, entries };
}

/** A key of everything that affects the PTX, except the source. */
export function compilerHash() {
  const hash = createHash('sha256').update(FLAGS.join(' '));
  hash.update(spawnSync(CLANG, ['--version'], { encoding: 'utf8' }).stdout);
  for (const folder of ['include', 'ptx']) {
    const headers = path.join(packageRoot, 'msl', folder);
    for (const name of readdirSync(headers).sort()) hash.update(readFileSync(path.join(headers, name)));
  }
  return hash.digest('hex');
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {string} input
 * @returns {Promise<{isOk: boolean, output: string, message: string}>}
 */
function run(program, args, input) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    let message = '';
    child.stdout.on('data', (text) => {
      output += text;
    });
    child.stderr.on('data', (text) => {
      message += text;
    });
    child.on('error', (error) => resolve({ isOk: false, output, message: error.message }));
    child.on('close', (code) => resolve({ isOk: code === 0, output, message }));
    child.stdin.end(input);
  });
}

/**
 * The PTX of a result of `deviceSource`.
 *
 * @param {string} source
 * @param {Architecture} architecture
 */
export async function compileToPtx(source, architecture) {
  const target = ['-target-cpu', architecture, '-target-feature', `+${ARCHITECTURES[architecture]}`];
  const headers = ['-I', path.join(packageRoot, 'msl/ptx')];
  const compiled = await run(CLANG, [...FLAGS, ...target, ...headers, '-', '-o', '-'], source);
  if (!compiled.isOk) throw new BuildError(compiled.message);
  return compiled.output;
}
