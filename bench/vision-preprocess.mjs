// Claim: a decoded picture of 12 megapixels is resized to the size for 280 soft tokens in under 150 ms on one core. Also
// timed: other budgets, cutting into patches, decoding a JPEG of that size, and all steps together. Processor time is also printed, because
// other programs increase wall time. usage: node bench/vision-preprocess.mjs [--width 4000] [--height 3000] [--rounds 9] [--json]
import { parseArgs } from 'node:util';
import {
  countTokens,
  decodeImage,
  patchify,
  prepareImage,
  resizeImage,
  targetSize,
} from '../packages/vision/dist/index.js';
import { shown, spread } from './lib/statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    width: { type: 'string', default: '4000' },
    height: { type: 'string', default: '3000' },
    rounds: { type: 'string', default: '9' },
    json: { type: 'boolean', default: false },
  },
});
const [width, height, rounds] = [flags.width, flags.height, flags.rounds].map(Number);
const layout = { patchEdge: 16, blockEdge: 3 };

const photo = { width, height, data: noise(width * height * 3) };
const results = { width, height, first: {}, clock: {}, processor: {} };
for (const budget of [280, 70, 140, 560, 1120]) {
  const target = targetSize(width, height, budget);
  const name = `resize to ${target.width} x ${target.height}, ${countTokens(width, height, budget)} soft tokens`;
  await measure(name, () => resizeImage(photo, target));
}
const resized = resizeImage(photo, targetSize(width, height, 280));
await measure('patches of 280', () => patchify(resized, layout));
const jpeg = await jpegOf(photo);
await measure('decode of a JPEG', () => decodeImage(jpeg));
await measure('all steps from the JPEG', () => prepareImage(jpeg, { budget: 280, layout }));
report();

async function measure(name, work) {
  const clock = [];
  const processor = [];
  for (let round = 0; round < rounds + 1; round += 1) {
    const usage = process.cpuUsage();
    const begin = performance.now();
    await work();
    clock.push(performance.now() - begin);
    const { user, system } = process.cpuUsage(usage);
    processor.push((user + system) / 1000);
  }
  results.first[name] = clock[0];
  results.clock[name] = spread(clock.slice(1));
  results.processor[name] = spread(processor.slice(1));
}

/** Smooth shapes and noise: neither only edges nor only flat areas. */
function noise(length) {
  const data = new Uint8Array(length);
  let state = 1;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    data[index] = 96 + 64 * Math.sin(index / 9000) + (state >>> 26);
  }
  return data;
}

async function jpegOf({ width, height, data }) {
  const { createRequire } = await import('node:module');
  const require = createRequire(new URL('../packages/vision/package.json', import.meta.url));
  return require('sharp')(data, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 90 })
    .toBuffer();
}

function report() {
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(results)}\n`);
    return;
  }
  const columns = 'wall; processor; wall of the first run';
  process.stdout.write(`${width} x ${height}, milliseconds, median (min to max) of ${rounds}: ${columns}\n`);
  for (const [name, times] of Object.entries(results.clock)) {
    const [processor, first] = [shown(results.processor[name]), results.first[name].toFixed(1)];
    process.stdout.write(`${name}: ${shown(times)}; ${processor}; ${first}\n`);
  }
}
