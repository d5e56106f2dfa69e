// Videos whose frames are known: frame n is grey of the value 6 n. They are decoded by ffmpeg, so what is checked is which frames are
// taken, their times and their shape, against what was written.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { videoFrames } from '../../../packages/vision/dist/index.js';
import { runTool } from './run-tool.mjs';

const FRAMES = 40;
const GREY = `color=black:size=64x48:rate=10:duration=4,format=rgb24,geq=r='N*6':g='N*6':b='N*6'`;
const SOUND = 'sine=frequency=440:duration=4';
const EVERY_FIFTH = [0, 5, 10, 15, 20, 25, 30, 35];
const LOSSY = 6;

/** Entries [file, options of ffmpeg, what is expected besides]. */
const WHOLE = [
  ['mpeg4.mp4', ['-c:v', 'mpeg4', '-q:v', '2']],
  ['h264.mp4', ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-crf', '12']],
  ['h264.mov', ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-crf', '12']],
  ['h264-b.mkv', ['-c:v', 'libx264', '-bf', '3', '-pix_fmt', 'yuv420p', '-crf', '12']],
  ['mjpeg.avi', ['-c:v', 'mjpeg', '-q:v', '2', '-pix_fmt', 'yuvj420p']],
  ['vp8.webm', ['-c:v', 'libvpx', '-b:v', '1M']],
  ['vp9.webm', ['-c:v', 'libvpx-vp9', '-b:v', '1M', '-cpu-used', '8']],
  ['mpeg2.ts', ['-c:v', 'mpeg2video', '-q:v', '2', '-bf', '2', '-r', '25'], { rate: 25 }],
  ['mpeg2.mpg', ['-c:v', 'mpeg2video', '-q:v', '2', '-r', '25'], { rate: 25 }],
  ['theora.ogv', ['-c:v', 'libtheora', '-q:v', '10']],
  ['animation.gif', ['-pix_fmt', 'gray']],
  ['wide-pixels.mp4', ['-c:v', 'mpeg4', '-q:v', '2', '-aspect', '8:3'], { size: '128x48' }],
  ['narrow-pixels.mkv', ['-c:v', 'mpeg4', '-q:v', '2', '-aspect', '2:3'], { size: '32x48' }],
];
/** Half of the frames in the first second: setpts speeds the first twenty up. */
const UNEVEN = [
  'uneven.mkv',
  [
    '-vf',
    "settb=1/1000,setpts='if(lt(N,20),N*0.05,1+(N-20)*0.15)/TB'",
    '-fps_mode',
    'passthrough',
    '-enc_time_base',
    '1:1000',
    '-c:v',
    'mpeg4',
    '-q:v',
    '2',
  ],
];
const CUT = ['mpeg4.mp4', 'vp8.webm', 'vp9.webm', 'mpeg2.ts', 'h264.mp4', 'h264-b.mkv'];

/** Writes all videos into a folder; returns their names. */
export function makeVideos(folder) {
  const source = ['-v', 'error', '-y', '-f', 'lavfi', '-i', GREY];
  for (const [name, options] of [...WHOLE, UNEVEN])
    runTool('ffmpeg', [...source, ...options, join(folder, name)]);
  const sound = ['-f', 'lavfi', '-i', SOUND];
  runTool('ffmpeg', [
    ...source,
    ...sound,
    '-c:v',
    'mpeg4',
    '-q:v',
    '2',
    '-c:a',
    'aac',
    join(folder, 'with-sound.mp4'),
  ]);
  runTool('ffmpeg', ['-v', 'error', '-y', ...sound, '-c:a', 'aac', join(folder, 'only-sound.mp4')]);
  for (const name of CUT) {
    const bytes = readFileSync(join(folder, name));
    writeFileSync(join(folder, `cut-${name}`), bytes.subarray(0, Math.floor(bytes.length * 0.7)));
  }
  const names = WHOLE.map(([name]) => name);
  return [...names, UNEVEN[0], 'with-sound.mp4', 'only-sound.mp4', ...CUT.map((name) => `cut-${name}`)];
}

/** Compares eight frames of a video with what was written, or its error with the right words. */
export async function checkVideo(folder, name) {
  const path = join(folder, name);
  const by = 'what was written';
  try {
    const frames = [];
    for await (const { index, timestampSeconds, image } of videoFrames(path, { maxFrames: 8 })) {
      frames.push({ index, timestampSeconds, size: `${image.width}x${image.height}`, value: image.data[0] });
    }
    return { name, by, ...judge(name, frames) };
  } catch (error) {
    const words = name === 'only-sound.mp4' ? /no moving pictures/ : /incomplete/;
    const isRight = (name.startsWith('cut-') || name === 'only-sound.mp4') && words.test(error.message);
    return { name, by, isRight, figure: isRight ? 'refused in our words' : error.message };
  }
}

function judge(name, frames) {
  if (name.startsWith('cut-') || name === 'only-sound.mp4') return { isRight: false, figure: 'not refused' };
  const { size = '64x48', rate = 10 } = WHOLE.find(([file]) => file === name)?.[2] ?? {};
  const isUneven = name === UNEVEN[0];
  const timeOf = (n) => (isUneven ? (n < 20 ? n * 0.05 : 1 + (n - 20) * 0.15) : n / 10);
  const expected = isUneven ? [0, 10, 20, 23, 26, 30, 33, 36] : EVERY_FIFTH;
  const numbers =
    rate === 10
      ? frames.map(({ index }) => index)
      : frames.map(({ timestampSeconds }) => Math.round(timestampSeconds * 10));
  const isAt = ({ timestampSeconds, value }, at) =>
    Math.abs(timestampSeconds - timeOf(numbers[at])) < 0.06 &&
    Math.abs(value - 6 * numbers[at]) <= LOSSY + (rate === 10 ? 0 : 6);
  const isNear = (n, at) => Math.abs(n - expected[at]) <= 1;
  const isRight =
    frames.length === 8 &&
    numbers.every(isNear) &&
    frames.every(isAt) &&
    frames.every((f) => f.size === size);
  return { isRight, figure: `frames ${numbers.join(' ')} of ${FRAMES}, ${frames[0].size}` };
}
