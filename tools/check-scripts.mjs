// `node tools/check-scripts.mjs`: starts every script of bench/ and packages/*/fuzz on tiny input, so that none of them breaks unnoticed;
// the measured values are meaningless. A script without an entry below counts as a failure.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { capture, repositoryRoot } from './lib/process.mjs';
import { writeReport } from './lib/report.mjs';

const folder = mkdtempSync(path.join(os.tmpdir(), 'markbase-scripts-'));
const MODEL = 'packages/demo-model/model';
const MOE_MODEL = 'packages/demo-model/model-moe';

/**
 * How a script is started. `refused`: its message without required options, if running it needs another program.
 *
 * @typedef {{ script: string, args: string[], node?: string[], env?: Record<string, string>,
 *   refused?: RegExp }} Start
 */

/** @type {Start[]} */
const STARTS = [
  { script: 'bench/api-schemas.mjs', args: [], refused: /^usage: / },
  { script: 'bench/cancelled-streams.mjs', args: ['--minutes', '0.03', '--streams', '8'] },
  { script: 'bench/chat-templates.mjs', args: [], refused: /^usage: / },
  // Would install two agents: only its imports are checked here.
  { script: 'bench/coding-agents.mjs', args: ['--help'] },
  // Would write two hundred files with programs that CI does not have.
  { script: 'bench/media-corpus.mjs', args: ['--help'] },
  { script: 'bench/schema-limits.mjs', args: ['--json'] },
  { script: 'bench/schema-suite.mjs', args: [], refused: /^usage: / },
  // Checks statuses, texts and bytes.
  { script: 'bench/server-attack.mjs', args: ['--sample'] },
  { script: 'bench/audio-front-end.mjs', args: ['--seconds', '2'] },
  {
    script: 'bench/audio-tower.mjs',
    args: ['--model', MODEL, '--seconds', '1', '--formats', 'bf16', '--rounds', '1'],
  },
  {
    script: 'bench/loader-convert.mjs',
    args: ['--megabytes', '4', '--rounds', '1', '--folder', folder],
  },
  {
    script: 'bench/load.mjs',
    args: ['--rates', '4', '--seconds', '1', '--scale', '0.02', '--svg', path.join(folder, 'load.svg')],
  },
  { script: 'bench/loader-estimate.mjs', args: ['--variants', 'e2b', '--context', '1024'] },
  {
    script: 'bench/loader-read.mjs',
    args: ['--megabytes', '4', '--rounds', '2', '--entries', '1000', '--folder', folder],
  },
  {
    script: 'bench/moe-26b.mjs',
    args: ['--model', MOE_MODEL, '--widths', '1', '--prompts', '4', '--steps', '2'],
  },
  { script: 'bench/moe-26b.mjs', args: [], refused: /^--model is needed/ },
  { script: 'bench/pack-h200.mjs', args: ['--out', path.join(folder, 'packed')], env: { XZ_OPT: '-0' } },
  {
    script: 'bench/page-conversations.mjs',
    args: ['--conversations', '3', '--turns', '2', '--rounds', '1'],
  },
  { script: 'bench/peer-cpu.mjs', args: [], refused: /^--model and --peer and --gguf are needed/ },
  { script: 'bench/restore.mjs', args: ['--tokens', '70', '--rounds', '1'] },
  {
    script: 'bench/server-load.mjs',
    node: ['--expose-gc'],
    args: ['--minutes', '0.05', '--streams', '2', '--sequences', '2', '--prompts', '2'],
  },
  {
    script: 'bench/server-throughput.mjs',
    args: ['--model', MODEL, '--streams', '1,2', '--tokens', '4', '--rounds', '1'],
  },
  { script: 'bench/server-throughput.mjs', args: [], refused: /^--model is needed/ },
  { script: 'bench/vision-preprocess.mjs', args: ['--width', '96', '--height', '64', '--rounds', '1'] },
  {
    script: 'bench/vision-towers.mjs',
    args: [
      ...['--shapes', 'e2b', '--budgets', '70', '--formats', 'bf16'],
      ...['--layers', '1', '--rounds', '1'],
    ],
  },
  { script: 'packages/loader/fuzz/run.mjs', args: ['--seconds', '3'] },
  // Its cases are compared with a Python reference, which is not available here: `true` replaces it.
  { script: 'packages/loader/fuzz/compare.mjs', args: ['--python', 'true', '--count', '100'] },
];
/** Modules that other scripts import. */
const LIBRARIES = new Set(['packages/loader/fuzz/instrument.mjs']);

const counts = { passed: 0, failed: 0, skipped: 0 };
try {
  for (const script of scripts()) {
    const starts = STARTS.filter((start) => start.script === script);
    if (starts.length === 0) note(script, 'it has no entry in tools/check-scripts.mjs', 0);
    for (const start of starts) tryStart(start);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
writeReport('scripts', counts);
process.exitCode = counts.failed > 0 ? 1 : 0;

/** @param {Start} start */
function tryStart({ script, args, node = [], env = {}, refused }) {
  const started = Date.now();
  const { status, stdout, stderr } = capture(process.execPath, [...node, script, ...args], { env });
  const isGood = refused ? status === 1 && refused.test(stderr) : status === 0;
  note([script, ...args].join(' '), isGood ? null : `exit status ${status}\n${stdout}${stderr}`, started);
}

/** @param {string} title @param {string | null} failure @param {number} started */
function note(title, failure, started) {
  counts[failure === null ? 'passed' : 'failed'] += 1;
  const seconds = started ? `, ${((Date.now() - started) / 1000).toFixed(1)} s` : '';
  console.log(failure === null ? `ok      ${title}${seconds}` : `FAILED  ${title}: ${failure}`);
}

/** Every script that is started by hand, such as "bench/loader-read.mjs". */
function scripts() {
  const packages = readdirSync(path.join(repositoryRoot, 'packages')).map((name) => `packages/${name}/fuzz`);
  return ['bench', ...packages]
    .filter((name) => existsSync(path.join(repositoryRoot, name)))
    .flatMap((name) => readdirSync(path.join(repositoryRoot, name)).map((file) => `${name}/${file}`))
    .filter((file) => file.endsWith('.mjs') && !LIBRARIES.has(file));
}
