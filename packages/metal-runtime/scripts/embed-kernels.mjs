// Writes the Metal kernels into a C++ file: `node scripts/embed-kernels.mjs [--nvidia] <output.cc>`.
// Metal compiles source text that cannot include files, so every kernel is written with its headers in place.
// --nvidia adds those of kernels/nvidia, for the stand-in of NVIDIA's driver.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const kernels = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../kernels');

/**
 * The text of a file with its own headers in place, each once. Line directives keep error messages readable.
 *
 * @param {string} name
 * @param {Set<string>} seen
 * @returns {string}
 */
export function flatten(name, seen = new Set()) {
  seen.add(name);
  const lines = readFileSync(path.join(kernels, name), 'utf8').split('\n');
  const out = [`#line 1 "${name}"`];
  lines.forEach((line, index) => {
    const header = /^#include "([^"]+)"/.exec(line)?.[1];
    if (header !== undefined) {
      if (!seen.has(header)) out.push(flatten(header, seen));
      out.push(`#line ${index + 2} "${name}"`);
    } else if (!/^#pragma once|^#include <stdint\.h>/.test(line)) out.push(line);
    else out.push('');
  });
  return out.join('\n');
}

/** The C++ file. @param {string[]} folders of kernels @returns {string} */
function embedded(folders) {
  const names = folders
    .flatMap((folder) => readdirSync(path.join(kernels, folder)).map((name) => path.join(folder, name)))
    .filter((name) => name.endsWith('.metal'));
  const entries = names.sort().map((name) => {
    // Compilers limit the length of one literal; neighbouring ones are joined.
    const pieces = flatten(name).match(/[\s\S]{1,8000}/g) ?? [];
    const literal = pieces.map((piece) => `R"metal(${piece})metal"`).join('\n');
    return `    {"${path.basename(name, '.metal')}", ${literal}},`;
  });
  return [
    '// Written by scripts/embed-kernels.mjs.',
    '#include "kernel_sources.h"',
    '',
    'namespace markbase::metal {',
    '',
    `const KernelSource kKernelSources[] = {\n${entries.join('\n')}\n};`,
    `const size_t kKernelSourceCount = ${names.length};`,
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
    writeFileSync(output, embedded(process.argv.includes('--nvidia') ? ['', 'nvidia'] : ['']));
  }
}
