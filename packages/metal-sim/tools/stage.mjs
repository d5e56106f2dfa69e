// The first stage of this package's front ends: the preprocessor, with the macros of Metal's standard library.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { INCLUDE_FOLDERS } from '../../metal-runtime/scripts/kernel-files.mjs';
import { CLANG } from './clang.mjs';
import { packageRoot } from './targets.mjs';

/**
 * @param {string} program
 * @param {string[]} args
 * @param {string} input
 */
export function pipe(program, args, input) {
  const done = spawnSync(program, args, { input, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
  return { isOk: done.status === 0, output: done.stdout, message: done.stderr };
}

/** Whether a kernel file needs Metal 4; all other files must compile for older systems. @param {string} file */
export function usesTensors(file) {
  return readFileSync(file, 'utf8').includes('#include <metal_tensor>');
}

/**
 * The preprocessed text of a kernel file.
 *
 * @param {string} file
 * @param {string[]} [options] of the preprocessor
 */
export function stage(file, options = []) {
  const folder = path.join(packageRoot, 'msl/stage');
  const language = ['-E', '-x', 'c++', '-std=c++17', '-nostdinc', `-I${folder}`];
  const includes = INCLUDE_FOLDERS.map((shared) => `-I${shared}`);
  const version = usesTensors(file) ? 400 : 320;
  const defines = ['-D__METAL__=1', `-D__METAL_VERSION__=${version}`, '-D__METAL_MACOS__=1', '-DMETAL_SIM=1'];
  return pipe(CLANG, [...language, ...includes, ...defines, ...options, file], '');
}
