import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContextLengthError, CorruptFileError, FileAccessError, InvalidArgumentError } from '@markbase/core';
import { DEFAULT_VIDEO_FRAME_TOKENS, MAX_VIDEO_FRAMES } from '@markbase/loader';
import { FORMAT_BYTES, imageFormat } from '../image/image-format.js';
import { accessError, requirePath } from '../image/image-source.js';
import {
  checkBudget,
  type PreparedImage,
  type PrepareOptions,
  prepareDecoded,
} from '../image/prepare-image.js';
import { openAnimation } from './animation-frames.js';
import { type ContainerOptions, openContainer } from './container-frames.js';
import { evenFrames } from './even-frames.js';
import { openFolder } from './folder-frames.js';
import type { DecodedFrame, OpenedVideo } from './video-frame.js';

/** A video: the path of a folder of pictures or of a file, or the bytes of a file. */
export type VideoInput = string | Uint8Array;

/** How many frames were taken. */
export interface SampledFrames {
  /** Frames of the whole video. */
  readonly frameCount: number;
  /** Frames that are taken. */
  readonly takenCount: number;
  /** True if `maxTokens` is the reason why there are not more. */
  readonly isCutToFit: boolean;
}

/** Which frames are taken, and how they are decoded. */
export interface FrameOptions extends ContainerOptions {
  /** Maximum number of frames, evenly spaced in time over the whole video; default 32. */
  readonly maxFrames?: number;
  /**
   * Frame i is at i / framesPerSecond. Without it, at the time that the file gives; frames of a folder, which has no
   * times, then follow each other 24 times a second.
   */
  readonly framesPerSecond?: number;
  /** Called once with the number of frames that the video has, and of those that are taken. */
  readonly onSampled?: (sampled: SampledFrames) => void;
}

/** How a video is prepared. */
export interface VideoOptions extends FrameOptions, Omit<PrepareOptions, 'budget'> {
  /** Maximum number of soft tokens per frame; default 70. */
  readonly budget?: number;
  /** Maximum number of tokens: only as many frames are decoded as fit. Default: no limit. */
  readonly maxTokens?: number;
}

/** Delimiters of a frame, and the time in front of it, in tokens; at most. */
const FRAME_TEXT_TOKENS = 10;

type PrepareVideo = VideoOptions & { readonly budget: number };

/** A frame as a model takes it. */
export interface PreparedFrame extends Omit<DecodedFrame, 'image'> {
  /** The frame, resized and cut into patches. */
  readonly image: PreparedImage;
}

/**
 * The frames of a video as a model takes them (docs/gemma4.md section 3.6): sampled evenly, each prepared as a separate
 * picture.
 *
 * @param input a folder of pictures, an animated GIF or WebP, or any container that the installed ffmpeg decodes
 * @returns frames in order, at least one
 * @throws as `prepareImage`; FileAccessError naming ffmpeg when it is needed and missing; CorruptFileError when it fails, or the file is
 * truncated; UnsupportedMediaError for a file without moving pictures;
 * ContextLengthError when not even one frame fits into `maxTokens`
 */
export async function readVideo(input: VideoInput, options: VideoOptions): Promise<PreparedFrame[]> {
  const prepare = { ...options, budget: options.budget ?? DEFAULT_VIDEO_FRAME_TOKENS };
  checkBudget(prepare);
  const frames: PreparedFrame[] = [];
  // One decoded frame at a time: 32 of them in full size can be a gigabyte.
  const fitting = fittingFrames(prepare);
  const onSampled = (sampled: SampledFrames) => {
    const isCutToFit = fitting < Math.min(options.maxFrames ?? MAX_VIDEO_FRAMES, sampled.frameCount);
    options.onSampled?.({ ...sampled, isCutToFit });
  };
  for await (const frame of videoFrames(input, { ...options, maxFrames: fitting, onSampled })) {
    frames.push({ ...frame, image: await prepareDecoded(frame.image, prepare) });
  }
  return frames;
}

/** The frames that fit, each with the budget that it may use. @throws ContextLengthError if there are none */
function fittingFrames({ maxFrames = MAX_VIDEO_FRAMES, maxTokens, budget }: PrepareVideo): number {
  if (maxTokens === undefined) return maxFrames;
  const frameTokens = budget + FRAME_TEXT_TOKENS;
  const fitting = Math.floor(maxTokens / frameTokens);
  if (fitting >= 1) return Math.min(maxFrames, fitting);
  throw new ContextLengthError({
    promptTokens: frameTokens,
    maxTokens,
    subject: 'a frame of the video',
    room: 'less than a frame',
  });
}

/**
 * The sampled frames of a video, decoded one after another and not resized.
 *
 * @throws as `readVideo`
 */
export async function* videoFrames(
  input: VideoInput,
  options: FrameOptions = {},
): AsyncGenerator<DecodedFrame, void> {
  const { maxFrames, framesPerSecond, signal } = options;
  checkFrameRate(framesPerSecond);
  signal?.throwIfAborted();
  await using source = await openVideo(input, options);
  const { startSeconds, durationSeconds } = timesOf(source.video, framesPerSecond);
  const indices = evenFrames(startSeconds, durationSeconds, maxFrames);
  options.onSampled?.({ frameCount: startSeconds.length, takenCount: indices.length, isCutToFit: false });
  let taken = 0;
  for await (const frame of source.video.frames(indices)) {
    signal?.throwIfAborted();
    taken++;
    yield { ...frame, timestampSeconds: startSeconds[frame.index]! };
  }
  if (taken === 0) {
    throw new CorruptFileError({
      rule: 'UndecodableVideo',
      path: subjectOf(input),
      reason: 'no frame was decoded',
    });
  }
}

/** The times of the file, or those of a constant rate. */
function timesOf(
  { startSeconds, durationSeconds }: OpenedVideo,
  framesPerSecond: number | undefined,
): Pick<OpenedVideo, 'startSeconds' | 'durationSeconds'> {
  if (framesPerSecond === undefined) return { startSeconds, durationSeconds };
  const steady = startSeconds.map((_, index) => index / framesPerSecond);
  return { startSeconds: steady, durationSeconds: startSeconds.length / framesPerSecond };
}

/** A video, and how to clean up after it. */
interface VideoSource extends AsyncDisposable {
  readonly video: OpenedVideo;
}

async function openVideo(input: VideoInput, options: FrameOptions): Promise<VideoSource> {
  if (typeof input !== 'string') return openBytes(input, options);
  requirePath(input);
  return { video: await openPath(input, options), [Symbol.asyncDispose]: async () => {} };
}

async function openPath(path: string, options: FrameOptions): Promise<OpenedVideo> {
  const status = await stat(path).catch((error) => {
    throw accessError(path, error);
  });
  if (status.isDirectory()) return openFolder(path, options.framesPerSecond, options);
  if (!status.isFile()) {
    throw new FileAccessError({ path, operation: 'read', reason: 'it is neither a file nor a folder' });
  }
  const head = await firstBytes(path);
  // An empty file is refused like an empty picture, without needing a decoder.
  return head.length === 0 || imageFormat(head) !== null
    ? openAnimation(path, options)
    : openContainer(path, options);
}

/** Containers may have their tables anywhere, so ffmpeg gets a file in which it can seek. */
async function openBytes(bytes: Uint8Array, options: FrameOptions): Promise<VideoSource> {
  if (!ArrayBuffer.isView(bytes) || bytes.length === 0 || imageFormat(bytes) !== null) {
    return { video: await openAnimation(bytes, options), [Symbol.asyncDispose]: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), 'markbase-video-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, 'video');
    await writeFile(path, bytes, { signal: options.signal });
    return { video: await openContainer(path, options), [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function firstBytes(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r').catch((error) => {
    throw accessError(path, error);
  });
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(FORMAT_BYTES), 0, FORMAT_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function subjectOf(input: VideoInput): string {
  return typeof input === 'string' ? input : 'video bytes';
}

function checkFrameRate(framesPerSecond: number | undefined): void {
  if (framesPerSecond === undefined || (framesPerSecond > 0 && framesPerSecond < Infinity)) return;
  throw new InvalidArgumentError({
    argument: 'framesPerSecond',
    expected: 'a number above 0',
    received: framesPerSecond,
  });
}
