import { resolve } from 'node:path';
import { type ImageLimits, imageLimits } from '../image/image-limits.js';
import { packetTimes } from './packet-times.js';
import { ppmFrames } from './ppm-frames.js';
import { runFfmpeg } from './run-ffmpeg.js';
import type { OpenedVideo } from './video-frame.js';

/** How a container is decoded. */
export interface ContainerOptions {
  readonly limits?: Partial<ImageLimits>;
  /** Name or path of the program. */
  readonly ffmpeg?: string;
  readonly signal?: AbortSignal;
}

/**
 * Containers that hold the pictures themselves, not playlists and scripts, which refer to further files and addresses.
 */
const CONTAINERS = [
  'mov,mp4,m4a,3gp,3g2,mj2',
  'matroska,webm',
  'avi',
  'mpegts',
  'mpeg',
  'ogg',
  'flv',
  'asf',
  'ivf',
  'h264',
  'hevc',
  'm4v',
  'gif',
  'apng',
].join(',');

/** Selected frames get a constant rate, so that ffmpeg neither repeats nor drops one. */
const STEADY_RATE = 25;

/**
 * The frames of an MP4, WebM, AVI or other container, decoded by ffmpeg: one pass over the packets counts the frames and
 * finds their times without decoding, a second one decodes up to the last requested frame.
 *
 * @throws FileAccessError without ffmpeg, CorruptFileError when ffmpeg fails, LimitExceededError for large frames
 */
export async function openContainer(path: string, options: ContainerOptions = {}): Promise<OpenedVideo> {
  const { ffmpeg = 'ffmpeg', signal } = options;
  const limits = imageLimits(options.limits);
  const run = (args: readonly string[]) =>
    runFfmpeg({ command: ffmpeg, args: [...inputArgs(path), ...args, 'pipe:1'], subject: path, signal });
  const times = await packetTimes(run(['-c', 'copy', '-f', 'framecrc']), path);
  return {
    frameCount: times.length,
    async *frames(indices) {
      let next = 0;
      for await (const image of ppmFrames(run(pictureArgs(indices)), path, limits)) {
        const index = indices[next++]!;
        yield { index, timestampSeconds: times[index]!, image };
      }
    },
  };
}

function inputArgs(path: string): string[] {
  const quiet = ['-nostdin', '-hide_banner', '-loglevel', 'error'];
  // The prefix keeps ffmpeg from reading a name as an option, an address or a pattern.
  const input = [
    '-protocol_whitelist',
    'file',
    '-format_whitelist',
    CONTAINERS,
    '-i',
    `file:${resolve(path)}`,
  ];
  return [...quiet, ...input, '-map', '0:v:0'];
}

function pictureArgs(indices: readonly number[]): string[] {
  const wanted = indices.map((index) => `eq(n\\,${index})`).join('+');
  const filters = `select=${wanted},setpts=N/(${STEADY_RATE}*TB)`;
  const output = ['-f', 'image2pipe', '-c:v', 'ppm', '-pix_fmt', 'rgb24'];
  return ['-vf', filters, '-r', String(STEADY_RATE), '-frames:v', String(indices.length), ...output];
}
