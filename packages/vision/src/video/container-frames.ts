import { resolve } from 'node:path';
import { CorruptFileError, FileAccessError, hasErrorCode, UnsupportedMediaError } from '@markbase/core';
import { ffmpegInput, lastMessage, missingBytes, runFfmpeg, truncationMessage } from '@markbase/loader';
import { type ImageLimits, imageLimits } from '../image/image-limits.js';
import { packetTimes } from './packet-times.js';
import { ppmFrames } from './ppm-frames.js';
import type { OpenedVideo } from './video-frame.js';

/** How a container is decoded. */
export interface ContainerOptions {
  readonly limits?: Partial<ImageLimits>;
  /** Name or path of the program. */
  readonly ffmpeg?: string;
  readonly signal?: AbortSignal;
}

/** Containers that hold the pictures themselves, not playlists and scripts, which refer to further files and addresses. */
const CONTAINERS = 'mov matroska avi mpegts mpeg ogg flv asf ivf h264 hevc m4v gif apng'.split(' ');
/** The first stream of moving pictures; the cover of an album does not count. */
const VIDEO_STREAM = ['-map', '0:V:0'];
/** With several threads, ffmpeg's decoder of these returns a frame before it is complete, now and then. */
const ONE_THREAD_CODECS: ReadonlySet<string> = new Set(['theora', 'vp3']);
/** Selected frames get a constant rate, so that ffmpeg neither repeats nor drops one. */
const STEADY_RATE = 25;
/** Pixels that are more than this many times as wide as high, or the reverse, are damage. */
const MAX_PIXEL_ASPECT = 8;

/**
 * The frames of an MP4, WebM, AVI or other container, decoded by ffmpeg: one pass over the packets counts the frames and
 * finds their times without decoding, a second one decodes up to the last requested frame.
 *
 * @throws FileAccessError without ffmpeg, CorruptFileError when ffmpeg fails or the file is truncated, UnsupportedMediaError for a file
 * without moving pictures, LimitExceededError for large frames
 */
export async function openContainer(path: string, options: ContainerOptions = {}): Promise<OpenedVideo> {
  const { ffmpeg = 'ffmpeg', signal } = options;
  const limits = imageLimits(options.limits);
  const missing = await missingBytes(path);
  if (missing > 0)
    throw undecodable(path, `the file is incomplete: it lacks ${missing} bytes; get the whole one`);
  const input = ffmpegInput({ path: resolve(path), containers: CONTAINERS });
  const check = (messages: string, exitCode: number | null) => failure(path, messages, exitCode);
  const run = (args: readonly string[], decoding: readonly string[] = []) =>
    explainMissing(
      runFfmpeg({
        command: ffmpeg,
        args: [...decoding, ...input, ...VIDEO_STREAM, ...args, 'pipe:1'],
        check,
        ...(signal && { signal }),
      }),
    );
  const times = await packetTimes(run(['-c', 'copy', '-f', 'framecrc']), path);
  const { startSeconds, durationSeconds, codec } = times;
  const decoding = ONE_THREAD_CODECS.has(codec) ? ['-threads', '1'] : [];
  return {
    startSeconds,
    durationSeconds,
    async *frames(indices) {
      let next = 0;
      for await (const image of ppmFrames(run(pictureArgs(indices), decoding), path, limits)) {
        const index = indices[next++]!;
        yield { index, timestampSeconds: startSeconds[index]!, image };
      }
    },
  };
}

function pictureArgs(indices: readonly number[]): string[] {
  const wanted = indices.map((index) => `eq(n\\,${index})`).join('+');
  const aspect = `clip(sar\\,1/${MAX_PIXEL_ASPECT}\\,${MAX_PIXEL_ASPECT})`;
  // Pixels that are not square are stretched in width, as players do.
  const square = `scale=max(1\\,round(iw*${aspect})):ih,setsar=1`;
  const filters = `select=${wanted},setpts=N/(${STEADY_RATE}*TB),${square}`;
  const output = ['-f', 'image2pipe', '-c:v', 'ppm', '-pix_fmt', 'rgb24'];
  return ['-vf', filters, '-r', String(STEADY_RATE), '-frames:v', String(indices.length), ...output];
}

async function* explainMissing(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (error) {
    if (!hasErrorCode(error, 'FILE_ACCESS')) throw error;
    const { path, operation, reason } = error as FileAccessError;
    const advice =
      'Videos other than GIF, WebP and folders of pictures are decoded by ffmpeg: install it, or make such a folder';
    throw new FileAccessError({ path, operation, reason: `${reason}. ${advice}`, cause: error });
  }
}

function failure(path: string, messages: string, exitCode: number | null): Error | null {
  if (/matches no streams/.test(messages)) {
    const reason = 'it has no moving pictures';
    return new UnsupportedMediaError({ media: 'video', source: path, reason });
  }
  const truncated = truncationMessage(messages);
  if (truncated !== null)
    return undecodable(path, `the file is incomplete (${truncated}); get the whole one`);
  if (exitCode === 0) return null;
  return undecodable(path, `ffmpeg cannot decode it: ${lastMessage(messages) || `exit code ${exitCode}`}`);
}

function undecodable(path: string, reason: string): CorruptFileError {
  return new CorruptFileError({ rule: 'UndecodableVideo', path, reason });
}
