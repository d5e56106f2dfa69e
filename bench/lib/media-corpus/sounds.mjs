// Sounds in every container and codec that ffmpeg and sox write, and WAV files with wrong sizes.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeAudio } from '../../../packages/audio/dist/index.js';
import { runTool } from './run-tool.mjs';

const SECONDS = 1.3;
/** Below this, samples differ in more than rounding: 46 dB is one part in 200. */
const LEAST_DECIBEL = 46;

const PCM_WAV =
  'pcm_u8 pcm_s16le pcm_s24le pcm_s32le pcm_f32le pcm_f64le pcm_alaw pcm_mulaw adpcm_ms adpcm_ima_wav'.split(
    ' ',
  );
const PCM_AIFF =
  'pcm_s8 pcm_s16be pcm_s24be pcm_s32be pcm_f32be pcm_f64be pcm_alaw pcm_mulaw pcm_s16le'.split(' ');
const PCM_CAF =
  'pcm_s8 pcm_s16le pcm_s16be pcm_s24le pcm_s24be pcm_s32be pcm_f32le pcm_f64be pcm_alaw pcm_mulaw alac'.split(
    ' ',
  );
const SHAPES = [
  [8000, 1],
  [44_100, 2],
];

/** Entries [name of the file, rate, channels, options of ffmpeg]. */
const BY_FFMPEG = [
  ...PCM_WAV.flatMap((codec) =>
    SHAPES.map((shape) => [`${codec}-${shape[0]}.wav`, ...shape, ['-c:a', codec]]),
  ),
  ...PCM_AIFF.flatMap((codec) =>
    SHAPES.map((shape) => [`${codec}-${shape[0]}.aiff`, ...shape, ['-c:a', codec]]),
  ),
  ...PCM_CAF.flatMap((codec) =>
    SHAPES.map((shape) => [`${codec}-${shape[0]}.caf`, ...shape, ['-c:a', codec]]),
  ),
  ['rf64.wav', 44_100, 2, ['-rf64', 'always']],
  ['six-channels.wav', 48_000, 6, []],
  ['sony.w64', 44_100, 2, []],
  ['sun.au', 22_050, 1, []],
  ['flac-8.flac', 8000, 1, []],
  ['flac-44.flac', 44_100, 2, ['-compression_level', '12']],
  ['flac-24.flac', 96_000, 2, ['-sample_fmt', 's32', '-bits_per_raw_sample', '24']],
  ['flac-6.flac', 48_000, 6, []],
  ['vorbis-q0.ogg', 44_100, 2, ['-c:a', 'libvorbis', '-q:a', '0']],
  ['vorbis-q9.ogg', 44_100, 2, ['-c:a', 'libvorbis', '-q:a', '9']],
  ['vorbis-mono.ogg', 8000, 1, ['-c:a', 'libvorbis']],
  ['opus-16.opus', 16_000, 1, ['-c:a', 'libopus']],
  ['opus-48.opus', 48_000, 2, ['-c:a', 'libopus', '-b:a', '128k']],
  ['opus-voip.opus', 48_000, 1, ['-c:a', 'libopus', '-application', 'voip', '-b:a', '16k']],
  ['opus-60ms.opus', 48_000, 1, ['-c:a', 'libopus', '-frame_duration', '60']],
  ['opus-6.opus', 48_000, 6, ['-c:a', 'libopus', '-mapping_family', '1']],
  ['flac-8.oga', 8000, 1, ['-c:a', 'flac']],
  ['flac-44.oga', 44_100, 2, ['-c:a', 'flac']],
  ['speex.spx', 16_000, 1, ['-c:a', 'libspeex']],
  ['mp3-8.mp3', 8000, 1, []],
  ['mp3-22.mp3', 22_050, 2, []],
  ['mp3-44.mp3', 44_100, 2, ['-b:a', '128k']],
  ['mp3-vbr.mp3', 44_100, 2, ['-q:a', '2']],
  ['mp3-mono.mp3', 48_000, 1, ['-b:a', '320k']],
  ['mp2.mp2', 48_000, 2, []],
  ['opus.webm', 48_000, 2, ['-c:a', 'libopus']],
  ['opus-mono.webm', 48_000, 1, ['-c:a', 'libopus']],
  ['opus-live.webm', 48_000, 1, ['-c:a', 'libopus', '-live', '1', '-cluster_time_limit', '200']],
  ['vorbis.webm', 44_100, 2, ['-c:a', 'libvorbis']],
  ['opus.mka', 48_000, 2, ['-c:a', 'libopus']],
  ['flac.mka', 44_100, 2, ['-c:a', 'flac']],
  ['aac.mka', 44_100, 2, ['-c:a', 'aac']],
  ['pcm.mka', 44_100, 2, ['-c:a', 'pcm_s16le']],
  ['mp3.mka', 44_100, 2, ['-c:a', 'libmp3lame']],
  ['ac3.mka', 48_000, 2, ['-c:a', 'ac3']],
  ['aac.m4a', 44_100, 2, []],
  ['aac-mono.m4a', 16_000, 1, []],
  ['aac-48.m4a', 48_000, 2, ['-b:a', '64k']],
  ['aac-fast.m4a', 44_100, 2, ['-movflags', '+faststart']],
  ['aac-fragments.mp4', 44_100, 2, ['-movflags', '+frag_keyframe+empty_moov', '-frag_duration', '200000']],
  ['alac.m4a', 44_100, 2, ['-c:a', 'alac']],
  ['mp3.mp4', 44_100, 2, ['-c:a', 'libmp3lame']],
  ['opus.mp4', 48_000, 2, ['-c:a', 'libopus']],
  ['flac.mp4', 44_100, 2, ['-c:a', 'flac', '-strict', '-2']],
  ['ac3.mp4', 48_000, 2, ['-c:a', 'ac3']],
  ['pcm.mov', 48_000, 2, ['-c:a', 'pcm_s24be']],
  ['aac.mov', 44_100, 2, ['-c:a', 'aac']],
  ['adts.aac', 44_100, 2, []],
  ['wma1.wma', 44_100, 2, ['-c:a', 'wmav1']],
  ['wma2.wma', 44_100, 2, ['-c:a', 'wmav2']],
  ['ac3.ac3', 48_000, 2, []],
  ['wavpack.wv', 44_100, 2, []],
  ['true.tta', 44_100, 2, []],
  ['aac.ts', 44_100, 2, ['-c:a', 'aac']],
  ['mp3.avi', 44_100, 2, ['-c:a', 'libmp3lame']],
];

/** Entries [name, options of sox for the output]. */
const BY_SOX = [
  ['sox-11.wav', ['-r', '11025']],
  ['sox-96.wav', ['-r', '96000', '-b', '24']],
  ['sox-3.wav', ['-c', '3']],
  ['sox-float.wav', ['-e', 'floating-point', '-b', '32']],
  ['sox-gsm.wav', ['-r', '8000', '-c', '1', '-e', 'gsm-full-rate']],
  ['sox-ima.wav', ['-e', 'ima-adpcm']],
  ['sox.aiff', []],
  ['sox-24.aiff', ['-b', '24']],
  ['sox.aifc', []],
  ['sox.au', []],
  ['sox.flac', ['-b', '24']],
  ['sox.ogg', []],
  ['sox.mp3', []],
  ['sox.wv', []],
  ['sox.caf', ['-b', '24']],
];

/** Entries [name, data size that the header states, from the right size]: the samples are all there. */
const WRONG_SIZES = [
  ['header-too-large.wav', (size) => size + 44],
  ['two-gigabytes.wav', () => 0x8000_0000],
  ['two-gigabytes-less.wav', () => 0x7fff_ffdb],
  ['four-gigabytes.wav', () => 0xffff_ffff],
  ['four-gigabytes-less.wav', () => 0xffff_ffd3],
];

function ffmpegSource(rate, channels) {
  const tone = `aevalsrc=${Array.from({ length: channels }, (_, c) => `0.3*sin(${2 * Math.PI * (300 + 110 * c)}*t)*(1+0.5*sin(9*t))+0.02*random(${c})`).join('|')}:s=${rate}:d=${SECONDS}`;
  return ['-v', 'error', '-y', '-f', 'lavfi', '-i', tone];
}

/** Writes all sounds into a folder; returns their names. */
export function makeSounds(folder) {
  const names = [];
  for (const [name, rate, channels, options] of BY_FFMPEG) {
    runTool('ffmpeg', [...ffmpegSource(rate, channels), ...options, join(folder, name)]);
    names.push(name);
  }
  const source = join(folder, 'pcm_s16le-44100.wav');
  for (const [name, options] of BY_SOX) {
    runTool('sox', ['-R', source, ...options, join(folder, name)]);
    names.push(name);
  }
  const pipe = join(folder, 'pipe.wav');
  writeFileSync(pipe, runTool('sox', ['-R', source, '-t', 'wav', '-']));
  writeFileSync(
    join(folder, 'pipe-ffmpeg.wav'),
    runTool('ffmpeg', [...ffmpegSource(16_000, 1), '-f', 'wav', 'pipe:1']),
  );
  names.push('pipe.wav', 'pipe-ffmpeg.wav');
  for (const [name, wrong] of WRONG_SIZES) {
    const bytes = Buffer.from(readFileSync(source));
    const at = bytes.indexOf('data') + 4;
    bytes.writeUInt32LE(wrong(bytes.readUInt32LE(at)), at);
    writeFileSync(join(folder, name), bytes);
    names.push(name);
  }
  return names;
}

async function decoded(path, options) {
  const pieces = [];
  for await (const { channels } of decodeAudio(path, options))
    pieces.push(channels.map((samples) => samples.slice()));
  const count = pieces.reduce((sum, [first]) => sum + first.length, 0);
  return pieces[0].map((_, channel) => {
    const all = new Float32Array(count);
    let at = 0;
    for (const piece of pieces) {
      all.set(piece[channel], at);
      at += piece[channel].length;
    }
    return all;
  });
}

/** Whether ffmpeg is needed to read a file. */
async function needsFfmpeg(path) {
  try {
    await decoded(path, { ffmpeg: false });
    return false;
  } catch {
    return true;
  }
}

/** Samples of sox, or of ffmpeg where we decode by ourselves or sox cannot read the file; interleaved. */
function reference(path, isExternal) {
  if (isExternal) {
    try {
      return {
        by: 'sox',
        samples: floats(runTool('sox', ['-D', path, '-t', 'raw', '-e', 'floating-point', '-b', '32', '-'])),
      };
    } catch {
      // A format that sox does not read: the same program decodes it, so only the way there is checked.
    }
  }
  // Its own decoder of Opus resamples speech in another way than libopus, which is the reference.
  const decoder = /opus.*\.(?:opus|webm|mka)$/.test(path) ? ['-c:a', 'libopus'] : [];
  const args = [
    '-v',
    'error',
    ...decoder,
    '-i',
    path,
    '-map',
    '0:a:0',
    '-f',
    'f32le',
    '-c:a',
    'pcm_f32le',
    'pipe:1',
  ];
  return { by: isExternal ? 'ffmpeg, as we do' : 'ffmpeg', samples: floats(runTool('ffmpeg', args)) };
}

function floats(bytes) {
  return new Float32Array(
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length - (bytes.length % 4)),
  );
}

/** Compares a sound with an independent decoder: the length within one sample, the samples within 46 dB. */
export async function checkSound(folder, name) {
  const path = join(folder, name);
  const isExternal = await needsFfmpeg(path);
  const channels = await decoded(path);
  const { by, samples } = reference(path, isExternal);
  const length = samples.length / channels.length;
  const [ours, theirs] = [mixed(channels, length), mixed(split(samples, channels.length), length)];
  let [signal, noise] = [0, 0];
  for (const [channel, expected] of theirs.entries()) {
    for (const [index, value] of expected.entries()) {
      signal += value ** 2;
      noise += ((ours[channel][index] ?? value) - value) ** 2;
    }
  }
  const decibel = noise === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10(signal / noise);
  const difference = Math.abs(channels[0].length - length);
  return {
    name,
    by,
    isRight: difference <= 1 && decibel >= LEAST_DECIBEL,
    figure: `${difference} samples, ${Number.isFinite(decibel) ? `${decibel.toFixed(0)} dB` : 'equal'}`,
    decibel,
  };
}

function split(samples, count) {
  return Array.from({ length: count }, (_, channel) =>
    samples.filter((_, index) => index % count === channel),
  );
}

/** More than two channels as their mean, which is what models hear: containers order them differently. */
function mixed(channels, length) {
  if (channels.length <= 2) return channels;
  const mean = (_, index) =>
    channels.reduce((sum, samples) => sum + (samples[index] ?? 0), 0) / channels.length;
  return [Float32Array.from({ length }, mean)];
}
