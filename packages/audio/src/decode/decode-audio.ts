import { setImmediate } from 'node:timers/promises';
import {
  CorruptFileError,
  InvalidArgumentError,
  type OptionNames,
  UnsupportedMediaError,
} from '@markbase/core';
import {
  type AudioBytes,
  type AudioSource,
  isPcmAudio,
  readBytes,
  sourceName,
  sourceSize,
  sourceTail,
} from './audio-source.js';
import { checkPiece } from './check-piece.js';
import type { PcmFormat } from './chunks/pcm-decoder.js';
import { checkLength, ForeignSoundError, foreign } from './decode-errors.js';
import { DETECT_BYTES, detectFormat } from './detect-format.js';
import { decodeWithFfmpeg } from './external/ffmpeg-sound.js';
import { KeptBytes } from './external/kept-bytes.js';
import { seekableFile } from './external/seekable-file.js';
import { ID3_HEADER_BYTES, id3Length } from './mpeg/mpeg-frames.js';
import { openDecoder } from './open-decoder.js';
import { pcmPieces } from './pcm-pieces.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from './sound-decoder.js';

/** Progress of reading a file. */
export interface DecodeProgress {
  /** Bytes of the source that have been read. */
  readonly bytes: number;
  /** Null for a stream, whose length is unknown. */
  readonly totalBytes: number | null;
}

/** How a sound file is read. */
export interface DecodeOptions {
  /** Format of raw samples without a header; if absent, the format is detected from the first bytes. */
  readonly pcm?: PcmFormat;
  /** What to do with a truncated file: fail (`'refuse'`, the default), or use what it contains. */
  readonly truncated?: 'refuse' | 'accept';
  /**
   * Longest sound in seconds, above 0; default: no limit. A longer one is refused before it is decoded if its header states its
   * length, and otherwise as soon as this much is decoded.
   */
  readonly maxTotalSeconds?: number;
  /**
   * Name or path of the program that decodes what is not decoded here, such as AAC; default `'ffmpeg'`, on the PATH. False: such files
   * are refused.
   */
  readonly ffmpeg?: string | false;
  /** Called after each part of a file that was read; not for samples in memory. */
  readonly onProgress?: (progress: DecodeProgress) => void;
  /** Aborts the work with its reason. */
  readonly signal?: AbortSignal;
}

/** The names of `DecodeOptions`. */
export const DECODE_OPTIONS: OptionNames<DecodeOptions> = {
  pcm: true,
  truncated: true,
  maxTotalSeconds: true,
  ffmpeg: true,
  onProgress: true,
  signal: true,
};

/** Longest the event loop waits, in milliseconds. */
const BREATH_MS = 10;

/**
 * Decodes WAV, AIFF, CAF, FLAC, MP3, Ogg and WebM with Vorbis or Opus, Ogg FLAC and raw samples here, and M4A, MP4 and others with the
 * installed ffmpeg; piece by piece: memory use does not grow with the length.
 *
 * @throws UnsupportedMediaError for anything that is not a sound file, or has another format or codec; CorruptFileError, with `rule`, for
 * a damaged or truncated file, samples that are NaN, infinite or far outside [-1, 1], and files without samples;
 * FileAccessError; LimitExceededError for more than `maxTotalSeconds`; InvalidArgumentError for samples of the caller that are
 * not valid; the reason of `signal`
 */
export async function* decodeAudio(
  source: AudioSource,
  options: DecodeOptions = {},
): AsyncGenerator<SamplePiece> {
  const { signal, maxTotalSeconds = Number.POSITIVE_INFINITY } = options;
  if (!(maxTotalSeconds > 0)) {
    throw new InvalidArgumentError({
      argument: 'maxTotalSeconds',
      expected: 'a number of seconds above 0',
      received: maxTotalSeconds,
    });
  }
  const context: DecodeContext = {
    source: sourceName(source),
    acceptTruncated: options.truncated === 'accept',
    maxSeconds: maxTotalSeconds,
    tail: async () => (isPcmAudio(source) ? null : sourceTail(source)),
    breathe: breathing(),
  };
  let sampleCount = 0;
  signal?.throwIfAborted();
  const pieces = isPcmAudio(source) ? pcmPieces(source) : filePieces(source, options, context);
  for await (const piece of pieces) {
    signal?.throwIfAborted();
    checkPiece(piece, sampleCount, source, context);
    sampleCount += piece.channels[0]!.length;
    checkLength(context, sampleCount, piece.sampleRate);
    yield piece;
    await context.breathe();
  }
  signal?.throwIfAborted();
  if (sampleCount === 0) {
    throw new CorruptFileError({ rule: 'NoSamples', path: context.source, reason: 'it holds no samples' });
  }
}

/** Decoding is synchronous; without this, a file in memory would not let anything else run. */
function breathing(): () => Promise<void> {
  let last = performance.now();
  return async () => {
    if (performance.now() - last <= BREATH_MS) return;
    await setImmediate();
    last = performance.now();
  };
}

/** Decodes here what can be decoded here; ffmpeg decodes the rest, if it is installed. */
async function* filePieces(
  source: AudioBytes,
  options: DecodeOptions,
  context: DecodeContext,
): AsyncGenerator<SamplePiece> {
  const counted = countBytes(source, options.onProgress);
  const bytes = new KeptBytes(options.pcm === undefined ? withoutId3(counted) : counted);
  try {
    try {
      for await (const piece of ownPieces(bytes, options, context)) {
        bytes.forget();
        yield piece;
      }
      return;
    } catch (error) {
      if (!(error instanceof ForeignSoundError) || !bytes.isKept || options.ffmpeg === false) throw error;
      await using file = await seekableFile(source, bytes);
      const { ffmpeg = 'ffmpeg', signal } = options;
      const sound = { path: file.path, ffmpeg, need: error.need, ...(signal && { signal }) };
      yield* decodeWithFfmpeg(sound, context);
    }
  } finally {
    await bytes.close();
  }
}

async function* ownPieces(
  bytes: AsyncIterable<Uint8Array>,
  options: DecodeOptions,
  context: DecodeContext,
): AsyncGenerator<SamplePiece> {
  let decoder: SoundDecoder | null = null;
  let head = new Uint8Array(0);
  try {
    for await (const chunk of bytes) {
      // Also while no sound comes out of it: bytes between frames, headers, streams of other kinds.
      await context.breathe();
      options.signal?.throwIfAborted();
      if (decoder === null) {
        head = Buffer.concat([head, chunk]);
        if (head.length < DETECT_BYTES) continue;
        decoder = await openFor(head, options, context);
        yield* decoder.push(head);
      } else yield* decoder.push(chunk);
    }
    if (decoder === null) {
      decoder = await openFor(head, options, context);
      yield* decoder.push(head);
    }
    yield* decoder.finish();
  } finally {
    decoder?.close();
  }
}

function openFor(head: Uint8Array, options: DecodeOptions, context: DecodeContext): Promise<SoundDecoder> {
  if (options.pcm !== undefined) return openDecoder(options.pcm, context);
  if (head.length === 0) {
    throw new CorruptFileError({ rule: 'NoSamples', path: context.source, reason: 'it is empty' });
  }
  const found = detectFormat(head);
  if ('format' in found) return openDecoder(found.format, context);
  if ('foreign' in found) foreign(context, found.foreign);
  throw new UnsupportedMediaError({ media: 'audio', source: context.source, reason: found.reason });
}

async function* countBytes(
  source: AudioBytes,
  onProgress: DecodeOptions['onProgress'],
): AsyncGenerator<Uint8Array> {
  if (onProgress === undefined) return yield* readBytes(source);
  const totalBytes = await sourceSize(source);
  let bytes = 0;
  for await (const chunk of readBytes(source)) {
    bytes += chunk.length;
    onProgress({ bytes, totalBytes });
    yield chunk;
  }
}

/** Leaves out the ID3 tags at the beginning, which hold pictures of any size. */
async function* withoutId3(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head = new Uint8Array(0);
  let skip = 0;
  let isPast = false;
  for await (const chunk of bytes) {
    if (isPast) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    do {
      const cut = Math.min(skip, head.length);
      head = head.subarray(cut);
      skip -= cut;
      if (skip > 0 || head.length < ID3_HEADER_BYTES) break;
      skip = id3Length(head);
      isPast = skip === 0;
    } while (!isPast);
    if (isPast) yield head;
  }
  if (!isPast && head.length > 0) yield head;
}
