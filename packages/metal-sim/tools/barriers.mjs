// The barriers and fences of kernels, and which kernels can reach them.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { kernelFiles } from '../../metal-runtime/scripts/kernel-files.mjs';

const BARRIER = /\b(?:threadgroup_barrier|simdgroup_barrier|atomic_thread_fence)\s*\(/;
/** The start of a function or kernel. */
const DEFINITION = /^(inline|kernel) [^(;{]*?(\w+)\s*\(/gm;
/** Its end: a brace in the first column, or the end of a one-line function. */
const END = /^(?:\}|(?:inline|kernel) .*\}$)/;
/** Begins a comment above a barrier that no test can show to be needed, followed by the reason. */
const EXPLANATION = /^\/\/ No test can miss this barrier: (.+)$/;

/**
 * @typedef {ReadonlyMap<string, string>} Sources Name of a kernel file or header → its text.
 * @typedef {{file: string, line: number, text: string, explanation: string | null}} Barrier
 */

/** All kernels of metal-runtime that Metal compiles, and their headers. @returns {Sources} */
export function readKernels() {
  return new Map(kernelFiles().map((file) => [path.basename(file), readFileSync(file, 'utf8')]));
}

/** The reason in the comment that ends above a line. @param {readonly string[]} lines @param {number} index */
function explanationAbove(lines, index) {
  let reason = '';
  for (let i = index - 1; i >= 0 && lines[i]?.trim().startsWith('//'); --i) {
    const comment = lines[i]?.trim() ?? '';
    const begin = EXPLANATION.exec(comment);
    if (begin) return `${begin[1]}${reason}`;
    reason = ` ${comment.replace(/^\/\/\s*/, '')}${reason}`;
  }
  return null;
}

/** @param {Sources} sources @returns {Barrier[]} */
export function findBarriers(sources) {
  return [...sources].flatMap(([file, source]) => {
    const lines = source.split('\n');
    return lines.flatMap((text, index) => {
      if (!BARRIER.test(text.replace(/\/\/.*$/, ''))) return [];
      return [{ file, line: index + 1, text: text.trim(), explanation: explanationAbove(lines, index) }];
    });
  });
}

/**
 * The definitions in a file, each with the text since the previous one.
 *
 * @param {string} source
 * @returns {{name: string, isKernel: boolean, text: string, last: number}[]} `last`: line of the end.
 */
function definitionsIn(source) {
  const found = [];
  let text = '';
  for (const [index, line] of source.split('\n').entries()) {
    text += `${line.replace(/\/\/.*$/, '')}\n`;
    if (!END.test(line)) continue;
    const [, kind, name = ''] = [...text.matchAll(DEFINITION)].at(-1) ?? [];
    found.push({ name, isKernel: kind === 'kernel', text, last: index + 1 });
    text = '';
  }
  return found;
}

/**
 * Kernels that can reach a line: those that call, directly or indirectly, the function that contains it.
 *
 * @param {Sources} sources
 * @param {Pick<Barrier, 'file' | 'line'>} place
 * @returns {string[]}
 */
export function kernelsOf(sources, { file, line }) {
  const own = definitionsIn(sources.get(file) ?? '').find(({ last }) => last >= line);
  const all = [...sources.values()].flatMap(definitionsIn);
  const reached = new Set([own?.name ?? '']);
  // Iteration over a set includes elements added meanwhile. Structures have no name here, so calls of their functions are not followed.
  for (const name of reached) {
    const call = new RegExp(`\\b${name}\\s*[<(]`);
    for (const { name: caller, text } of all) if (caller !== '' && call.test(text)) reached.add(caller);
  }
  return all.filter(({ isKernel, name }) => isKernel && reached.has(name)).map(({ name }) => name);
}

/** All kernels of all files. @param {Sources} sources */
export function allKernels(sources) {
  const definitions = [...sources.values()].flatMap(definitionsIn);
  return definitions.filter(({ isKernel }) => isKernel).map(({ name }) => name);
}

/**
 * The kernel of which a launched one is an instance: attention_prepare, not attention, for attention_prepare_bf16.
 *
 * @param {readonly string[]} kernels
 * @param {string} launched
 */
export function kernelOf(kernels, launched) {
  return kernels.filter((name) => launched.startsWith(name)).sort((a, b) => b.length - a.length)[0];
}
