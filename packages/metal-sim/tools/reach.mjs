// Which lines ran, which did not, and which can only run elsewhere.
//
// A source marks lines that only run elsewhere in three ways: a block after `@available` for a system that the simulator does not support;
// a comment `// Reached only REASON`, which applies until the end of its block; and a constexpr function, which the compiler may evaluate.

/** The newest macOS that METAL_SIM_MACOS supports. */
const NEWEST_SYSTEM = 26;

/**
 * Lines that only run elsewhere, with the reason.
 *
 * @param {string} text A source.
 * @returns {Map<number, string>} By line, from 1.
 */
export function linesElsewhere(text) {
  /** @type {Map<number, string>} */
  const found = new Map();
  /** Open blocks, with the depth outside each. @type {{depth: number, reason: string}[]} */
  const open = [];
  let depth = 0;
  text.split('\n').forEach((line, index) => {
    const marker = /\/\/ Reached only (.+?)\.?$/.exec(line)?.[1];
    if (marker !== undefined) open.push({ depth: depth - 1, reason: `reached only ${marker}` });
    const code = line.replace(/\/\/.*$/, '').replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
    const reason = open.at(-1)?.reason;
    if (reason !== undefined && code.trim() !== '') found.set(index + 1, reason);
    const system = Number(/if \(@available\(macOS (\d+)/.exec(code)?.[1]);
    const isConstant = /\bconstexpr\b.*\) (?:const )?\{$/.test(code) && !/\bif constexpr\b/.test(code);
    if (isConstant && open.length === 0) {
      open.push({ depth, reason: 'run by the compiler' });
      found.set(index + 1, 'run by the compiler');
    }
    for (const char of code) {
      if (char === '{') {
        if (system > NEWEST_SYSTEM && !open.some((block) => block.depth === depth))
          open.push({ depth, reason: `macOS ${system}` });
        depth += 1;
      }
      if (char === '}') {
        depth -= 1;
        while (open.length > 0 && (open.at(-1)?.depth ?? 0) >= depth) open.pop();
      }
    }
  });
  return found;
}

/**
 * @typedef {{name: string, all: number, reached: number, missed: number, text: string, elsewhere: string[]}} FileRow
 */

/**
 * A file's row of the report, and its lines that only run elsewhere.
 *
 * @param {string} name
 * @param {string} text Its source.
 * @param {ReadonlyMap<number, number>} lines How often each line ran.
 * @returns {FileRow}
 */
export function describeFile(name, text, lines) {
  const reasons = linesElsewhere(text);
  const idle = [...lines].filter(([, count]) => count === 0).map(([line]) => line);
  const missed = idle.filter((line) => !reasons.has(line));
  const reached = lines.size - idle.length;
  /** @type {Map<string, number[]>} */
  const listed = new Map();
  for (const line of idle) {
    const reason = reasons.get(line);
    if (reason !== undefined) listed.set(reason, [...(listed.get(reason) ?? []), line]);
  }
  const share = ((100 * reached) / lines.size).toFixed(1).padStart(5);
  const missing = missed.length === 0 ? '' : `  missed ${ranges(missed)}`;
  return {
    name,
    all: lines.size,
    reached,
    missed: missed.length,
    text: `${share}%  ${name}  ${reached}/${lines.size}${missing}`,
    elsewhere: [...listed].map(([reason, numbers]) => `  ${name} ${ranges(numbers)}: ${reason}`),
  };
}

/**
 * The last line of the report.
 *
 * @param {readonly FileRow[]} rows
 * @returns {{line: string, missed: number}}
 */
export function summarize(rows) {
  const sum = (/** @type {(row: FileRow) => number} */ of) => rows.reduce((total, row) => total + of(row), 0);
  const [all, reached, missed] = [sum((row) => row.all), sum((row) => row.reached), sum((row) => row.missed)];
  const share = all === 0 ? 0 : (100 * reached) / all;
  const elsewhere = all - reached - missed;
  return {
    line: `${reached} of ${all} lines of ${rows.length} files (${share.toFixed(1)} %), ${elsewhere} only elsewhere, ${missed} missed`,
    missed,
  };
}

/** "3-5, 9" @param {readonly number[]} lines */
export function ranges(lines) {
  /** @type {[number, number][]} */
  const spans = [];
  for (const line of [...lines].sort((a, b) => a - b)) {
    const last = spans.at(-1);
    if (last && last[1] + 1 === line) last[1] = line;
    else spans.push([line, line]);
  }
  return spans.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}
