// Claim: audio is encoded to soft tokens in a fraction of its duration. Prints the real-time factor (seconds of work per second of audio)
// of the E2B/E4B tower shape, 12 layers of width 1,024, by duration, with the shares of decoding, features and tower. `cores` is the
// processor time of all threads over the length of the audio, which depends less on other work on the machine. usage: node
// bench/audio-tower.mjs [--model DIR] [--threads 2] [--seconds 1,10,30,600] [--formats bf16,8,4]
//        [--precision fast] [--rounds 3] [--commands] [--json]
//   --model     a checkpoint with an audio tower; default: random weights, made in a temporary folder (600 MB)
//   --formats   bf16 = as stored; 8 and 4 = quantised while loading
//   --commands  also prints the time of every kind of command

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { AudioModel, extractFeatures, readSegments } from '../packages/audio/dist/index.js';
import { openDevice } from '../packages/metal-runtime/dist/index.js';
import { writeAudioCheckpoint } from './lib/audio-checkpoint.mjs';
import { spread } from './lib/statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    threads: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '1,10,30,600' },
    formats: { type: 'string', default: 'bf16,8' },
    precision: { type: 'string', default: 'fast' },
    rounds: { type: 'string', default: '3' },
    commands: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const RATE = 16_000;
const folder = await mkdtemp(join(tmpdir(), 'markbase-audio-'));
try {
  if (!flags.model) await writeAudioCheckpoint(folder);
  const device = await openDevice({ kind: 'cpu', threads: Number(flags.threads) });
  const results = [];
  for (const format of flags.formats.split(',')) results.push(...(await measureFormat(device, format)));
  device.dispose();
  if (flags.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measureFormat(device, format) {
  const programs = [];
  const start = performance.now();
  const model = await AudioModel.load(flags.model ?? folder, measured(device, programs), {
    precision: flags.precision,
    cacheBytes: 0,
    ...(format !== 'bf16' && { quantizeOnLoad: Number(format) }),
  });
  say(`${format}: loaded in ${((performance.now() - start) / 1000).toFixed(2)} s`);
  const results = [];
  for (const seconds of flags.seconds.split(',').map(Number)) {
    const path = join(folder, `${seconds}.wav`);
    await writeFile(path, wavOf(sound(seconds)));
    const rounds = seconds > 60 ? 1 : Number(flags.rounds);
    const runs = [];
    for (let round = 0; round <= rounds; round++) {
      const run = await measureRun(model, path, seconds);
      // The first run touches the weights.
      if (round > 0 || rounds === 1) runs.push(run);
    }
    const median = (key) => spread(runs.map((run) => run[key])).median;
    const row = { format, seconds };
    for (const key of ['decode', 'features', 'whole', 'processor']) row[key] = median(key);
    row.tower = row.whole - row.decode - row.features;
    row.realTimeFactor = row.whole / 1000 / seconds;
    row.cores = row.processor / 1000 / seconds;
    results.push(row);
    const share = (part) => `${((100 * part) / row.whole).toFixed(1)} %`;
    say(
      `${format} ${seconds} s: RTF ${row.realTimeFactor.toFixed(4)}, cores ${row.cores.toFixed(4)} (decode ${share(row.decode)}, ` +
        `features ${share(row.features)}, tower ${share(row.tower)})`,
    );
  }
  if (flags.commands) printCommands(programs);
  model.dispose();
  return results;
}

/** Milliseconds for decoding alone, for features alone, and from a file to soft tokens. */
async function measureRun(model, path) {
  let start = performance.now();
  const segments = [];
  for await (const segment of readSegments(path)) segments.push(segment);
  const decode = performance.now() - start;
  start = performance.now();
  for (const { samples } of segments) extractFeatures(samples, model.checkpoint.config);
  const features = performance.now() - start;
  const before = process.cpuUsage();
  start = performance.now();
  for await (const _ of model.encodeEach(path));
  const whole = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  return { decode, features, whole, processor: (user + system) / 1000 };
}

/** A device that times every command of its programs. */
function measured(device, programs) {
  if (!flags.commands) return device;
  return new Proxy(device, {
    get(target, key) {
      if (key !== 'record') return typeof target[key] === 'function' ? target[key].bind(target) : target[key];
      return (options, body) => {
        const program = target.record({ ...options, profile: true }, body);
        programs.push(program);
        return program;
      };
    },
  });
}

function printCommands(programs) {
  const total = new Map();
  for (const { label, kernel, milliseconds } of programs.at(-1).profile()) {
    const kind = `${label.replace(/layer \d+/, 'layer')} ${kernel}`;
    total.set(kind, (total.get(kind) ?? 0) + milliseconds);
  }
  const all = [...total.values()].reduce((sum, value) => sum + value, 0);
  for (const [kind, milliseconds] of [...total].sort((a, b) => b[1] - a[1])) {
    say(
      `  ${((100 * milliseconds) / all).toFixed(1).padStart(5)} %  ${milliseconds.toFixed(1).padStart(9)} ms  ${kind}`,
    );
  }
}

/** Tones that come and go, with quiet parts in between. */
function sound(seconds) {
  return Float32Array.from({ length: seconds * RATE }, (_, i) => {
    const time = i / RATE;
    const envelope = Math.max(0, Math.sin(2 * Math.PI * 1.3 * time)) ** 2;
    return 0.4 * envelope * Math.sin(2 * Math.PI * (220 + 180 * Math.sin(time)) * time);
  });
}

/** 16-bit mono WAV. */
function wavOf(samples) {
  const bytes = Buffer.alloc(44 + 2 * samples.length);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(36 + 2 * samples.length, 4);
  bytes.write('WAVEfmt ', 8);
  for (const [at, value] of [
    [16, 16],
    [24, RATE],
    [28, 2 * RATE],
    [40, 2 * samples.length],
  ])
    bytes.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ])
    bytes.writeUInt16LE(value, at);
  bytes.write('data', 36);
  for (const [i, value] of samples.entries()) bytes.writeInt16LE(Math.round(32_767 * value), 44 + 2 * i);
  return bytes;
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
