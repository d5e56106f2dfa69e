// Line coverage of kernels and of the Objective-C++ host, from raw profiles.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { BuildError } from './targets.mjs';

/** @param {string} program @param {string[]} args */
function run(program, args) {
  const done = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 512 * 2 ** 20 });
  if (done.error !== undefined) throw new BuildError(`${program} was not found: apt-get install -y llvm-19`);
  if (done.status !== 0) throw new BuildError(`${program} failed:\n${done.stderr}`);
  return done.stdout;
}

/**
 * The origin of every line of a generated source, file and line, from its line markers.
 *
 * @param {string} file
 * @returns {{file: string, line: number}[]} By line, from 1.
 */
function originOfLines(file) {
  /** @type {{file: string, line: number}[]} */
  const origins = [{ file: '', line: 0 }];
  let current = { file: '', line: 0 };
  for (const text of readFileSync(file, 'utf8').split('\n')) {
    const marker = /^# (\d+) "([^"]*)"/.exec(text);
    origins.push(current);
    current = marker
      ? { file: marker[2] ?? '', line: Number(marker[1]) }
      : { file: current.file, line: current.line + 1 };
  }
  return origins;
}

/**
 * How often each line ran: file → line → count, over all instantiations.
 *
 * @typedef {Map<string, Map<number, number>>} Counts
 * @param {string} folder With the raw profiles.
 * @param {string[]} binaries
 * @returns {Counts}
 */
export function readCoverage(folder, binaries) {
  const profile = path.join(folder, 'all.profdata');
  const raw = readdirSync(folder).filter((name) => name.endsWith('.profraw'));
  run('llvm-profdata-19', ['merge', '-sparse', '-o', profile, ...raw.map((name) => path.join(folder, name))]);
  /** @type {Counts} */
  const counts = new Map();
  for (const binary of binaries) {
    const text = run('llvm-cov-19', ['export', '-format=lcov', `-instr-profile=${profile}`, binary]);
    addLines(counts, text);
  }
  return counts;
}

/** @param {Counts} counts @param {string} lcov */
function addLines(counts, lcov) {
  let file = '';
  /** @type {{file: string, line: number}[] | null} */
  let origins = null;
  for (const text of lcov.split('\n')) {
    if (text.startsWith('SF:')) {
      file = text.slice(3);
      origins = file.endsWith('.so.cc') ? originOfLines(file) : null;
    }
    const match = /^DA:(\d+),(\d+)/.exec(text);
    if (!match) continue;
    const place = origins ? origins[Number(match[1])] : { file, line: Number(match[1]) };
    if (place === undefined || place.file === '') continue;
    const lines = counts.get(place.file) ?? new Map();
    counts.set(place.file, lines);
    lines.set(place.line, (lines.get(place.line) ?? 0) + Number(match[2]));
  }
}

/**
 * An unused template generates no code and has no counters, so its statements count as lines that never ran.
 *
 * @param {Map<number, number>} lines How often each line ran.
 * @param {string} text The source.
 */
export function addLinesThatNeverCompiled(lines, text) {
  text.split('\n').forEach((line, index) => {
    const isStatement = /^\s+(?:return\b|if\b|for \(|while \()/.test(line);
    // Lines of a macro are counted where it is used.
    if (isStatement && !line.endsWith('\\') && !lines.has(index + 1)) lines.set(index + 1, 0);
  });
}
