// Claim: a step of 26B-A4B reads the weights of each expert that its rows chose once. Measures decode at several
// widths and prefill, with the time of every kind of command, the distinct experts per layer, and their bytes. Times are
// medians of steps; `best` is the 10th percentile, for busy machines.
// usage: node bench/moe-26b.mjs --model DIR [--threads 2] [--widths 1,2,4,8] [--prompts 128,512] [--steps 40] [--json]
// DIR: node apps/playground/dist/cli.js synth --variant 26b-a4b --layers 6 --out DIR

import { parseArgs } from 'node:util';
import { openCheckpoint } from '../packages/loader/dist/index.js';
import { measureReadBandwidth, openDevice } from '../packages/metal-runtime/dist/index.js';
import { chooseExperts, loadMixture, mixtureConfig, mixtureOfExperts } from '../packages/moe/dist/index.js';
import { TextModel } from '../packages/text/dist/index.js';
import { requireOptions } from './lib/required-options.mjs';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    threads: { type: 'string', default: '2' },
    widths: { type: 'string', default: '1,2,4,8' },
    prompts: { type: 'string', default: '128,512' },
    steps: { type: 'string', default: '40' },
    json: { type: 'boolean', default: false },
  },
});
requireOptions(flags, ['model']);
const list = (text) => text.split(',').map(Number);
const [threads, steps] = [Number(flags.threads), Number(flags.steps)];
const widths = list(flags.widths);
const prompts = list(flags.prompts);
/** Position at which a decode starts. */
const DEPTH = 64;

const device = await openDevice({ kind: 'cpu', threads });
const checkpoint = await openCheckpoint(flags.model);
const programs = [];
/** The device, which times every command of its programs. */
const measured = new Proxy(device, {
  get(target, key) {
    if (key !== 'record') return typeof target[key] === 'function' ? target[key].bind(target) : target[key];
    return (options, body) => {
      const program = target.record({ ...options, profile: true }, body);
      programs.push(program);
      return program;
    };
  },
});
const model = await TextModel.load(checkpoint, measured, {
  contextTokens: Math.max(DEPTH + 3 * steps, ...prompts) + 1,
  maxSequences: Math.max(...widths),
  feedForward: mixtureOfExperts,
});
const { hiddenWidth, expertCount, topK, expertWidth, normEps } = mixtureConfig(checkpoint);
const layers = checkpoint.config.text.layerCount;

/** A reproducible generator of numbers in [0, 1). */
let state = 20_011;
const random = () => {
  state = (Math.imul(state, 48_271) >>> 0) % 2_147_483_647;
  return state / 2_147_483_647;
};
const tokens = (count) =>
  Int32Array.from(
    { length: count },
    () => 300 + Math.floor(random() * (checkpoint.config.text.vocabSize - 1000)),
  );
const percentile = (values, part) =>
  [...values].sort((a, b) => a - b)[Math.floor(part * (values.length - 1))];

/** Bytes of the tensors of layer 0 whose names begin with a prefix. */
const bytesOf = (part) =>
  checkpoint.weights
    .names()
    .filter((name) => name.startsWith(`language_model.layers.0.${part}`))
    .reduce((sum, name) => sum + checkpoint.weights.tensor(name).range.sizeBytes, 0);
const expertBytes = bytesOf('experts.') / expertCount;

/** Distinct experts of a layer that `width` independent rows choose, averaged over layers and draws. */
async function distinctExperts(width) {
  const counts = [];
  const config = { hiddenWidth, expertCount, topK, expertWidth, normEps };
  for (let layer = 0; layer < layers; layer += 1) {
    const { weights, dispose } = loadMixture(checkpoint, device, config, layer);
    const options = { label: 'router', maxRows: width, maxOutputs: 0, precision: 'fast' };
    const program = device.record(options, (ops) => {
      const h = ops.input('h', 'T', { axis: 'D', size: hiddenWidth });
      ops.output('experts', chooseExperts(ops, config, weights, h).experts);
    });
    for (let draw = 0; draw < 4; draw += 1) {
      const h = Float32Array.from(
        { length: width * hiddenWidth },
        () => random() + random() + random() - 1.5,
      );
      const zeros = new Int32Array(width);
      const step = {
        tokens: zeros,
        positions: zeros,
        slots: zeros,
        outputRows: new Int32Array(0),
        inputs: { h },
      };
      const { outputs } = await program.run(step, { read: ['experts'] });
      counts.push(new Set(outputs.experts).size);
    }
    program.dispose();
    dispose();
  }
  return counts.reduce((sum, count) => sum + count, 0) / counts.length;
}

/** Milliseconds by kind of command between two profiles of the programs. */
function profiles() {
  return programs.map((program) => program.profile().map(({ milliseconds }) => milliseconds));
}
function shares(before) {
  const sums = { router: 0, experts: 0, dense: 0, attention: 0, rest: 0 };
  for (const [index, program] of programs.entries()) {
    for (const [at, { label, kernel, milliseconds }] of program.profile().entries()) {
      const spent = milliseconds - (before[index]?.[at] ?? 0);
      sums[kindOf(label, kernel)] += spent;
    }
  }
  return sums;
}
function kindOf(label, kernel) {
  if (label.includes('/ router /')) return 'router';
  if (label.includes('/ experts /')) return 'experts';
  if (kernel.startsWith('attention')) return 'attention';
  return label.startsWith('layer') && kernel.startsWith('linear') ? 'dense' : 'rest';
}

const report = { layers, threads, isa: device.info.isa, decode: [], prefill: [] };
for (const width of widths) {
  const sequences = await model.acquire(new Array(width).fill(null));
  const jobs = sequences.map((sequence) => ({ sequence, rows: model.layOut({ ids: tokens(DEPTH) }) }));
  await model.prefill(jobs);
  // Random tokens, so that rows are independent.
  const step = () => model.decode(sequences.map((sequence) => ({ sequence, token: tokens(1)[0] })));
  for (let warm = 0; warm < 5; warm += 1) await step();
  const before = profiles();
  const times = [];
  for (let index = 0; index < steps; index += 1) {
    const start = performance.now();
    await step();
    times.push(performance.now() - start);
  }
  const sums = shares(before);
  const total = Object.values(sums).reduce((sum, value) => sum + value, 0);
  model.release(sequences);
  const program = programs.at(-1);
  const distinct = await distinctExperts(width);
  // The plan counts the experts of one row; all other weights are read once at any width.
  const stepBytes = program.plan.weightBytes + layers * (distinct - topK) * expertBytes;
  const { bytesPerSecond } = await measureReadBandwidth(threads);
  report.decode.push({
    width,
    medianMs: percentile(times, 0.5),
    bestMs: percentile(times, 0.1),
    distinctExperts: distinct,
    independent: expertCount * (1 - (1 - topK / expertCount) ** width),
    bytesPerStep: stepBytes,
    bandwidth: bytesPerSecond,
    shares: Object.fromEntries(Object.entries(sums).map(([kind, ms]) => [kind, ms / total])),
  });
}
for (const length of prompts) {
  const times = [];
  let before = profiles();
  for (let index = 0; index < 5; index += 1) {
    const [sequence] = await model.acquire([null]);
    const rows = model.layOut({ ids: tokens(length) });
    if (index === 1) before = profiles();
    const start = performance.now();
    await model.prefill([{ sequence, rows }]);
    if (index > 0) times.push(performance.now() - start);
    model.release([sequence]);
  }
  const sums = shares(before);
  const total = Object.values(sums).reduce((sum, value) => sum + value, 0);
  report.prefill.push({
    length,
    medianMs: percentile(times, 0.5),
    bestMs: Math.min(...times),
    shares: Object.fromEntries(Object.entries(sums).map(([kind, ms]) => [kind, ms / total])),
  });
}

if (flags.json) {
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
} else {
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  const shown = (parts) =>
    Object.entries(parts)
      .map(([kind, part]) => `${kind} ${percent(part)}`)
      .join(', ');
  const lines = [
    ...report.decode.map((row) => {
      const rate = (ms) => ((1000 * row.width) / ms).toFixed(1);
      const speed = row.bytesPerStep / row.bestMs / 1e6;
      return (
        `decode x${row.width}: ${rate(row.medianMs)} tokens/s (best ${rate(row.bestMs)}), ` +
        `${row.distinctExperts.toFixed(1)} experts per layer (independent: ${row.independent.toFixed(1)}), ` +
        `${(row.bytesPerStep / 1e6).toFixed(0)} MB per step, ${speed.toFixed(1)} GB/s at best ` +
        `of ${(row.bandwidth / 1e9).toFixed(1)}; ${shown(row.shares)}`
      );
    }),
    ...report.prefill.map((row) => {
      const rate = (ms) => ((1000 * row.length) / ms).toFixed(0);
      return `prefill of ${row.length}: ${rate(row.medianMs)} tokens/s (best ${rate(row.bestMs)}); ${shown(row.shares)}`;
    }),
  ];
  process.stdout.write(`${report.layers} layers, ${threads} threads, ${report.isa}\n${lines.join('\n')}\n`);
}
model.dispose();
device.dispose();
