// Compares the speed of a 4-bit decoder on the CPU with llama.cpp on the same machine, for E2B's shape or any other pair of files. The
// engines alternate, each in its own process, so that other work on the machine affects both equally. usage: node bench/peer-cpu.mjs
// --model DIR --peer DIR --gguf FILE [--threads 2] [--rounds 3] [--reps 3]
//        [--prompt 128,512] [--generate 64] [--batch 1,4] [--greedy] [--json]
// bench/README.md says how to make DIR and FILE.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { requireOptions } from './lib/required-options.mjs';
import { runJson } from './lib/run-json.mjs';
import { shown, spread } from './lib/statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    peer: { type: 'string' },
    gguf: { type: 'string' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    reps: { type: 'string', default: '3' },
    prompt: { type: 'string', default: '128,512' },
    generate: { type: 'string', default: '64' },
    batch: { type: 'string', default: '1,4' },
    greedy: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
requireOptions(flags, ['model', 'peer', 'gguf']);

const script = (path) => fileURLToPath(new URL(path, import.meta.url));
const workload = ['threads', 'prompt', 'generate', 'batch', 'reps'].flatMap((name) => [
  `--${name}`,
  flags[name],
]);
const engines = {
  markbase: () =>
    runJson(script('../apps/playground/dist/cli.js'), [
      'bench',
      ...['--model', flags.model, '--device', 'cpu', '--precision', 'fast', '--json'],
      ...workload,
    ]),
  peer: () =>
    runJson(script('lib/llama-driver.mjs'), [
      ...['--peer', flags.peer, '--gguf', flags.gguf],
      ...workload,
      ...(flags.greedy ? ['--greedy'] : []),
    ]),
};

const runs = { markbase: [], peer: [] };
for (let round = 0; round < Number(flags.rounds); round += 1) {
  // The engine that goes first alternates, because it may find the machine cooler.
  const order = round % 2 === 0 ? ['markbase', 'peer'] : ['peer', 'markbase'];
  for (const engine of order) {
    process.stderr.write(`round ${round + 1} of ${flags.rounds}: ${engine}\n`);
    runs[engine].push(await engines[engine]());
  }
}

const rates = (engine, pick) => spread(runs[engine].flatMap((run) => pick(run).tokensPerSecond.values));
const sizes = (engine, pick) => spread(runs[engine].map(pick));
const compare = (name, unit, read) => {
  const [markbase, peer] = [read('markbase'), read('peer')];
  return { name, unit, markbase, peer, ratio: markbase.median / peer.median };
};
const rows = [
  ...flags.prompt
    .split(',')
    .map((text, index) =>
      compare(`prefill ${text}`, 'tokens/s', (engine) => rates(engine, (run) => run.prefill[index])),
    ),
  ...flags.batch
    .split(',')
    .map((text, index) =>
      compare(`decode x${text}`, 'tokens/s', (engine) => rates(engine, (run) => run.decode[index])),
    ),
  compare('load', 'ms', (engine) => sizes(engine, (run) => run.loadMs)),
  compare('peak memory', 'MB', (engine) => sizes(engine, (run) => run.peakRssBytes / 1e6)),
];

if (flags.json) {
  process.stdout.write(`${JSON.stringify({ threads: Number(flags.threads), rows, runs }, null, 2)}\n`);
} else {
  const lines = rows.map(
    (row) =>
      `${row.name.padEnd(14)}${row.unit.padEnd(10)}${shown(row.markbase).padEnd(28)}${shown(row.peer).padEnd(28)}` +
      `${row.ratio.toFixed(2)}`,
  );
  const title = `${''.padEnd(24)}${'markbase'.padEnd(28)}${'peer'.padEnd(28)}ratio of medians`;
  process.stdout.write(`${flags.threads} threads; median (min to max)\n${[title, ...lines].join('\n')}\n`);
}
