// Claim: the steps before the audio tower (decoding, resampling, segments, log-mel features) take about a hundredth of a recording's
// duration on one core, and the memory of one segment, whatever its length. usage: node bench/audio-front-end.mjs [FILE …] [--seconds 120]
// [--hour] [--json]
//   FILE    sound files of any format; default: a stereo WAV of --seconds at 44.1 kHz, generated in memory
//   --hour  also measures the memory of an hour of stereo at 48 kHz

import { parseArgs } from 'node:util';
import { decodeAudio, logMel, readSegments } from '../packages/audio/dist/index.js';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '120' },
    hour: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const pcm = { encoding: 's16le', sampleRate: 48_000, channelCount: 2 };
const results = [];
for (const source of positionals.length > 0 ? positionals : [wav(Number(flags.seconds))]) {
  // The first run compiles.
  await measure(source);
  const result = await measure(source);
  results.push(result);
  const { name, seconds, decode, resample, features } = result;
  say(
    `${name}, ${seconds.toFixed(1)} s: decode ${shown(decode)}, resample and cut ${shown(resample)}, ` +
      `features ${shown(features)}`,
  );
}
if (flags.hour) results.push(await measureHour());
if (flags.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);

/** Seconds of processor time of all threads per second of sound; not wall time, because machines are shared. */
async function measure(source) {
  let samples = 0;
  let sampleRate = 0;
  let start = processorSeconds();
  for await (const piece of decodeAudio(source)) {
    samples += piece.channels[0].length;
    sampleRate = piece.sampleRate;
  }
  const seconds = samples / sampleRate;
  const decode = (processorSeconds() - start) / seconds;
  const segments = [];
  start = processorSeconds();
  for await (const segment of readSegments(source)) segments.push(segment);
  const resample = (processorSeconds() - start) / seconds - decode;
  start = processorSeconds();
  for (const segment of segments) logMel(segment.samples);
  const features = (processorSeconds() - start) / seconds;
  const name = typeof source === 'string' ? source : 'WAV in memory';
  return { name, seconds, decode, resample, features };
}

async function measureHour() {
  const before = process.memoryUsage().rss;
  let peak = before;
  let count = 0;
  for await (const _ of readSegments(hour(), { pcm })) {
    count += 1;
    peak = Math.max(peak, process.memoryUsage().rss);
  }
  const grownBytes = peak - before;
  say(`an hour, ${count} segments: ${(grownBytes / 1e6).toFixed(0)} MB more than before`);
  return { name: 'hour', seconds: 3600, grownBytes };
}

async function* hour() {
  const second = wav(1, pcm.sampleRate).subarray(44);
  for (let index = 0; index < 3600; index += 1) yield second;
}

/** 16-bit stereo noise with a varying volume. */
function wav(seconds, sampleRate = 44_100) {
  const frames = seconds * sampleRate;
  const bytes = Buffer.alloc(44 + 4 * frames);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(36 + 4 * frames, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(2, 22);
  bytes.writeUInt32LE(sampleRate, 24);
  bytes.writeUInt32LE(4 * sampleRate, 28);
  bytes.writeUInt16LE(4, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(4 * frames, 40);
  let state = 1;
  for (let at = 44; at < bytes.length; at += 2) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    bytes.writeInt16LE(Math.round((state >> 17) * 0.5 * (1 + Math.sin(at / 40_000))) % 32_768, at);
  }
  return bytes;
}

function processorSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function shown(share) {
  return `${(1000 * share).toFixed(2)} ms/s`;
}

function say(line) {
  if (!flags.json) console.log(line);
}
