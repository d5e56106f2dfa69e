// Writes the Metal kernels into a C++ file: `node scripts/embed-kernels.mjs [--nvidia] <output.cc>`.
// Metal compiles source text that cannot include files, so every kernel is written with its headers inlined. --nvidia adds the kernels for
// NVIDIA GPUs, for the stand-in for NVIDIA's driver.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { includedFile, metalFiles, sourceName } from './kernel-files.mjs';

/**
 * The text of a file with its own headers inlined, each once. Line directives keep error messages readable.
 *
 * @param {string} file
 * @param {Set<string>} seen
 * @returns {string}
 */
export function flatten(file, seen = new Set()) {
  seen.add(file);
  const name = path.basename(file);
  const lines = readFileSync(file, 'utf8').split('\n');
  const out = [`#line 1 "${name}"`];
  lines.forEach((line, index) => {
    const header = /^#include "([^"]+)"/.exec(line)?.[1];
    if (header !== undefined) {
      const included = includedFile(file, header);
      if (!seen.has(included)) out.push(flatten(included, seen));
      out.push(`#line ${index + 2} "${name}"`);
    } else if (!/^#pragma once|^#include <stdint\.h>/.test(line)) out.push(line);
    else out.push('');
  });
  return out.join('\n');
}

/** The C++ file. @param {boolean} withNvidia @returns {string} */
function embedded(withNvidia) {
  const files = metalFiles({ withNvidia });
  const entries = files.map((file) => {
    // Compilers limit the length of a literal; adjacent ones are concatenated.
    const pieces = flatten(file).match(/[\s\S]{1,8000}/g) ?? [];
    const literal = pieces.map((piece) => `R"metal(${piece})metal"`).join('\n');
    return `    {"${sourceName(file)}", ${literal}},`;
  });
  return [
    '// Written by scripts/embed-kernels.mjs.',
    '#include "kernel_sources.h"',
    '',
    'namespace markbase::metal {',
    '',
    `const KernelSource kKernelSources[] = {\n${entries.join('\n')}\n};`,
    `const size_t kKernelSourceCount = ${files.length};`,
    '',
    '}  // namespace markbase::metal',
    '',
  ].join('\n');
}

const output = process.argv.slice(2).find((word) => !word.startsWith('--'));
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (output === undefined) {
    console.error('usage: node scripts/embed-kernels.mjs [--nvidia] <output.cc>');
    process.exitCode = 1;
  } else {
    mkdirSync(path.dirname(path.resolve(output)), { recursive: true });
    writeFileSync(output, embedded(process.argv.includes('--nvidia')));
  }
}
