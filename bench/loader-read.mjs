// Claims: the headers of a checkpoint of 4,000 tensors in 6 files are read and checked in under 30 ms; tensors are read at
// 0.9 or more of the rate of plain reads of the same file, into new memory or into a reused buffer; a million entries take
// linear time. The files are generated, and are in the page cache when they are read.
// usage: node bench/loader-read.mjs [--megabytes 512] [--rounds 9] [--entries 10000,100000,1000000] [--folder DIR] [--json]
import { closeSync, mkdtempSync, openSync, readdirSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openSafetensors, writeSafetensors, writeShardedCheckpoint } from '../packages/loader/dist/index.js';
import { shown, spread } from './lib/statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '512' },
    rounds: { type: 'string', default: '9' },
    entries: { type: 'string', default: '10000,100000,1000000' },
    folder: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(flags.rounds);
const folder = mkdtempSync(join(flags.folder, 'markbase-read-'));
try {
  const headers = await headerTimes();
  const reads = await readRates();
  const entries = {};
  for (const count of flags.entries.split(',').map(Number)) entries[count] = await entryTimes(count);
  report({ headers, reads, entries });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function milliseconds(work) {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

/** Milliseconds for the headers of 6 files with 4,000 tensors together. */
async function headerTimes() {
  const target = join(folder, 'shards');
  const bytes = new Uint8Array(64);
  const tensors = Array.from({ length: 4002 }, (_, index) => ({
    name: `model.language_model.layers.${index % 60}.mlp.experts.${Math.floor(index / 60)}.gate_up_proj.weight`,
    dtype: 'BF16',
    shape: [4, 8],
    chunks: () => [bytes],
  }));
  await writeShardedCheckpoint(target, tensors, { maxShardBytes: 667 * 64 });
  const files = readdirSync(target).filter((name) => name.endsWith('.safetensors'));
  const paths = files.map((file) => join(target, file));
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    times.push(await milliseconds(() => Promise.all(paths.map((path) => openSafetensors(path)))));
  }
  return { fileCount: paths.length, first: times[0], ...spread(times.slice(1)) };
}

/** Rates of `TensorView.read` and of plain reads, alternating, and their ratio. */
async function readRates() {
  const tensorBytes = 64e6;
  const count = Math.max(1, Math.round((Number(flags.megabytes) * 1e6) / tensorBytes));
  const path = join(folder, 'wide.safetensors');
  const data = new Uint8Array(tensorBytes).fill(7);
  const tensors = Array.from({ length: count }, (_, index) => ({
    name: `tensor.${index}`,
    dtype: 'U8',
    shape: [tensorBytes],
    chunks: () => [data],
  }));
  await writeSafetensors(path, tensors);
  const views = [...(await openSafetensors(path)).tensors.values()];
  const rateOf = async (work) => (count * tensorBytes) / 1e3 / (await milliseconds(work));
  const plain = (newBuffer) => () => {
    const file = openSync(path);
    for (const { range } of views) readSync(file, newBuffer(), 0, tensorBytes, range.offsetBytes);
    closeSync(file);
  };
  const fresh = plain(() => new Uint8Array(tensorBytes));
  const reused = plain(() => data);
  const loader = async () => {
    for (const view of views) await view.read();
  };
  const loaderReused = async () => {
    for (const view of views) await view.readInto(data);
  };
  const rates = { loader: [], fresh: [], loaderReused: [], reused: [] };
  await loader();
  for (let round = 0; round < rounds; round += 1) {
    rates.fresh.push(await rateOf(fresh));
    rates.loader.push(await rateOf(loader));
    rates.reused.push(await rateOf(reused));
    rates.loaderReused.push(await rateOf(loaderReused));
  }
  const ratio = rates.loader.map((rate, round) => rate / rates.fresh[round]);
  const ratioReused = rates.loaderReused.map((rate, round) => rate / rates.reused[round]);
  return Object.fromEntries(
    Object.entries({ ...rates, ratio, ratioReused }).map(([name, values]) => [name, spread(values)]),
  );
}

/** Microseconds per entry for the header of one file with `count` tensors. */
async function entryTimes(count) {
  const entries = Array.from(
    { length: count },
    (_, index) => `"t${index}":{"dtype":"U8","shape":[1],"data_offsets":[${index},${index + 1}]}`,
  );
  const text = new TextEncoder().encode(`{${entries.join(',')}}`);
  const file = new Uint8Array(8 + text.length + count);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  const path = join(folder, 'entries.safetensors');
  writeFileSync(path, file);
  const times = [];
  for (let round = 0; round < 3; round += 1) {
    times.push((1000 * (await milliseconds(() => openSafetensors(path)))) / count);
  }
  return spread(times);
}

function report(result) {
  if (flags.json) return console.log(JSON.stringify(result, null, 2));
  const { headers, reads, entries } = result;
  console.log(
    `headers of ${headers.fileCount} files: ${shown(headers)} ms, the first time ${headers.first.toFixed(1)} ms`,
  );
  console.log(`read, into new memory: ${shown(reads.loader)} MB/s`);
  console.log(`plain reads: ${shown(reads.fresh)} MB/s; the loader reaches ${shown(reads.ratio)} of it`);
  console.log(`readInto, reusing one buffer: ${shown(reads.loaderReused)} MB/s`);
  console.log(
    `plain reads: ${shown(reads.reused)} MB/s; the loader reaches ${shown(reads.ratioReused)} of it`,
  );
  for (const [count, times] of Object.entries(entries)) {
    console.log(`a header of ${count} entries: ${shown(times)} µs per entry`);
  }
}
