// Claim: the large vision tower (27 x 1152) runs at half the peak rate of the processor's matrix units, or better.
// Milliseconds per picture by budget for the tower shapes of E2B (16 x 768) and of 26B and 31B (27 x 1152), unquantised and
// quantised while loaded, with operations per second compared with the peak measured in the same run, and the time of every
// kind of command. Two operations per product; norms, softmax and the like are not counted. Rates are operations per second
// of processor time on all threads, like the peak: other programs increase wall time.
// usage: node bench/vision-towers.mjs [--shapes e2b,large] [--budgets 70,280,1120] [--formats bf16,8,4] [--layers N]
//          [--threads 2] [--rounds 3] [--json]
// --layers runs fewer layers and scales the time of the layers up.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureMatmulPeak, openDevice } from '../packages/metal-runtime/dist/index.js';
import { VisionModel } from '../packages/vision/dist/index.js';
import { shown, spread } from './lib/statistics.mjs';
import { TOWERS, writeVisionCheckpoint } from './lib/vision-checkpoint.mjs';

const { values: flags } = parseArgs({
  options: {
    shapes: { type: 'string', default: 'e2b,large' },
    budgets: { type: 'string', default: '70,140,280,560,1120' },
    formats: { type: 'string', default: 'bf16,8' },
    layers: { type: 'string' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const list = (text) => text.split(',');
const [threads, rounds] = [Number(flags.threads), Number(flags.rounds)];
const budgets = list(flags.budgets).map(Number);
const giga = (rate) => rate / 1e9;

const device = await openDevice({ kind: 'cpu', threads });
const results = { device: device.info, threads, peaks: [], runs: [] };
for (const shape of list(flags.shapes)) {
  const full = TOWERS[shape];
  const tower = { ...full, layers: Math.min(full.layers, Number(flags.layers ?? full.layers)) };
  const folder = await mkdtemp(join(tmpdir(), 'markbase-vision-'));
  try {
    await writeVisionCheckpoint(folder, tower);
    for (const format of list(flags.formats)) await measureFormat(folder, shape, tower, full, format);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
device.dispose();
if (flags.json) console.log(JSON.stringify(results, null, 2));

async function measureFormat(folder, shape, tower, full, format) {
  const start = performance.now();
  const model = await VisionModel.load(folder, device, {
    cacheBytes: 0,
    profile: true,
    ...(format !== 'bf16' && { quantizeOnLoad: Number(format) }),
  });
  const loadMs = performance.now() - start;
  for (const budget of budgets) {
    // 4:3, like photographs; the size hardly affects the cost of the tower.
    const picture = photograph(800, 600);
    const { softTokens } = await encode(model, picture, budget);
    const before = model.profile();
    const times = [];
    const start = process.cpuUsage();
    for (let round = 0; round < rounds; round++)
      times.push((await encode(model, picture, budget)).milliseconds);
    const { user, system } = process.cpuUsage(start);
    // Share of the available processor time that the threads used.
    const busy = (user + system) / 1000 / (threads * times.reduce((sum, time) => sum + time, 0));
    const peak = await measureMatmulPeak(threads);
    const commands = costs(before, model.profile(), rounds);
    const scale = full.layers / tower.layers;
    const inLayers = commands.reduce(
      (sum, { label, milliseconds }) => sum + (label.includes('layer') ? milliseconds : 0),
      0,
    );
    const other = commands.reduce((sum, { milliseconds }) => sum + milliseconds, 0) - inLayers;
    const milliseconds = inLayers * scale + other;
    const processorMs = milliseconds * Math.min(1, busy);
    const operations = operationsOf(full, softTokens * 9);
    const rate = operations.all / (processorMs / 1000);
    const run = {
      ...{ shape, format, budget, softTokens, layers: tower.layers, loadMs },
      ...{ milliseconds, processorMs, operations, rate, peak },
      clock: spread(times),
      kinds: byKind(commands, scale),
    };
    results.peaks.push(peak);
    results.runs.push(run);
    if (!flags.json) print(run);
  }
  model.dispose();
}

async function encode(model, picture, budget) {
  const start = performance.now();
  const { rows } = await model.encode(picture, { budget });
  return { softTokens: rows, milliseconds: performance.now() - start };
}

/** Multiplications and additions of the products of a tower over T patches. */
function operationsOf({ hidden, inner, layers, heads, headDim, textWidth }, patches) {
  const linear = 2 * patches * (4 * hidden * heads * headDim + 3 * hidden * inner) * layers;
  const attention = 4 * patches ** 2 * heads * headDim * layers;
  const rest = 2 * patches * hidden * 768 + (2 * patches * hidden * textWidth) / 9;
  return { linear, attention, all: linear + attention + rest };
}

/** Milliseconds of every command in a round; a program recorded during the round counts from its start. */
function costs(before, after, rounds) {
  const offset = after.length - before.length;
  return after.map(({ label, kernel, milliseconds }, index) => {
    const earlier = offset === 0 ? before[index].milliseconds : (before[index - offset]?.milliseconds ?? 0);
    return { label, kernel, milliseconds: (milliseconds - earlier) / rounds };
  });
}

function byKind(commands, scale) {
  const kinds = {};
  for (const { label, kernel, milliseconds } of commands) {
    const isLayer = label.includes('layer');
    const name = isLayer ? label.split(' / ').at(-1) : kernel;
    const key = `${name} ${kernel}`;
    kinds[key] = (kinds[key] ?? 0) + milliseconds * (isLayer ? scale : 1);
  }
  return kinds;
}

function print(run) {
  const {
    shape,
    format,
    budget,
    softTokens,
    milliseconds,
    processorMs,
    rate,
    peak,
    clock,
    kinds,
    operations,
    loadMs,
  } = run;
  const share = (top) => (top > 0 ? `${((100 * rate) / top).toFixed(0)} %` : '-');
  console.log(
    `${shape} ${format} budget ${budget}: ${milliseconds.toFixed(0)} ms for ${softTokens} soft tokens ` +
      `(${processorMs.toFixed(0)} ms of ${threads} threads, clock ${shown(clock)} ms, load ${loadMs.toFixed(0)} ms), ${giga(rate).toFixed(0)} GFLOP/s; peak float32 ` +
      `${giga(peak.float32).toFixed(0)}, bfloat16 ${giga(peak.bfloat16).toFixed(0)}, int8 ${giga(peak.int8).toFixed(0)}: ` +
      `${share(peak.bfloat16)} of bfloat16, ${share(peak.int8)} of int8`,
  );
  for (const [kind, ms] of Object.entries(kinds).sort((a, b) => b[1] - a[1])) {
    if (ms > milliseconds / 200) console.log(`    ${ms.toFixed(1).padStart(9)} ms  ${kind}`);
  }
  const slower = milliseconds / processorMs;
  const attentionMs = Object.entries(kinds)
    .filter(([kind]) => kind.includes('segment_attention'))
    .reduce((sum, [, ms]) => sum + ms, 0);
  console.log(
    `    attention ${giga((operations.attention / attentionMs) * 1000 * slower).toFixed(0)} GFLOP/s, the rest ` +
      `${giga(((operations.all - operations.attention) / (milliseconds - attentionMs)) * 1000 * slower).toFixed(0)}`,
  );
}

/** A reproducible picture. */
function photograph(width, height) {
  const data = Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 7 + (i >> 5)) % 256);
  return { data, width, height, channels: 3 };
}
