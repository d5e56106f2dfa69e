// The strict front end: the preprocessor, the rewriter, and clang's C++ for OpenCL that only checks.
import path from 'node:path';
import { CLANG } from './clang.mjs';
import { buildTarget } from './compile.mjs';
import { pipe, stage } from './stage.mjs';
import { BuildError, checkTarget, packageRoot } from './targets.mjs';

export { metalFiles } from '../../metal-runtime/scripts/kernel-files.mjs';

/** Builds the rewriter if it is missing or out of date. */
export async function prepareCheck() {
  const built = await buildTarget(checkTarget());
  if (!built.isOk) throw new BuildError(built.message);
}

/** Replaces OpenCL's words in the compiler's messages by Metal's. @param {string} message */
function inMetal(message) {
  /** @type {Record<string, string>} */
  const words = { __global: 'device', __local: 'threadgroup', __constant: 'constant', __private: 'thread' };
  return message.replaceAll(/__(?:global|local|constant|private)\b/g, (word) => words[word] ?? word);
}

/**
 * The errors of a kernel file, or null.
 *
 * @param {string} file
 * @returns {string | null}
 */
export function checkKernel(file) {
  const staged = stage(file);
  if (!staged.isOk) return staged.message;
  const rewritten = pipe(checkTarget().output, [], staged.output);
  if (!rewritten.isOk) return rewritten.message;
  const language = ['-cc1', '-x', 'clcpp', '-cl-std=CLC++2021', '-triple', 'spir64', '-cl-ext=+cl_khr_fp16'];
  const strictness = [
    '-Wall',
    '-Wextra',
    '-Werror=vla',
    '-Wno-unused',
    '-Wno-unused-parameter',
    '-Wno-unknown-pragmas',
  ];
  const includes = ['-I', path.join(packageRoot, 'msl/strict'), '-fsyntax-only', '-'];
  const checked = pipe(CLANG, [...language, ...strictness, ...includes], rewritten.output);
  if (checked.isOk && checked.message === '') return null;
  return inMetal(checked.message) || 'the compiler failed without a message';
}
