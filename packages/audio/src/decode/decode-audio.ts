import { setImmediate } from 'node:timers/promises';
import { CorruptFileError, UnsupportedMediaError } from '@markbase/core';
import {
  type AudioBytes,
  type AudioSource,
  isPcmAudio,
  readBytes,
  sourceName,
  sourceSize,
} from './audio-source.js';
import { checkPiece } from './check-piece.js';
import { DETECT_BYTES, detectFormat } from './detect-format.js';
import { ID3_HEADER_BYTES, id3Length } from './mpeg/mpeg-frames.js';
import { openDecoder } from './open-decoder.js';
import { pcmPieces } from './pcm-pieces.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from './sound-decoder.js';
import type { PcmFormat } from './wav/pcm-decoder.js';

/** Progress of reading a file. */
export interface DecodeProgress {
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
  /** Called after each part of a file that was read; not for samples in memory. */
  readonly onProgress?: (progress: DecodeProgress) => void;
  /** Aborts the work with its reason. */
  readonly signal?: AbortSignal;
}

/** Longest the event loop waits, in milliseconds. */
const BREATH_MS = 10;

/**
 * Decodes WAV, FLAC, MP3, Ogg Vorbis, Ogg Opus, Ogg FLAC and raw samples, piece by piece: memory use does not grow with the
 * length.
 *
 * @throws UnsupportedMediaError for anything that is not a sound file, or has another format or codec; CorruptFileError, with `rule`, for
 * a damaged or truncated file, samples that are NaN, infinite or far outside [-1, 1], and files without samples;
 * FileAccessError; InvalidArgumentError for samples of the caller that are not valid; the reason of `signal`
 */
export async function* decodeAudio(
  source: AudioSource,
  options: DecodeOptions = {},
): AsyncGenerator<SamplePiece> {
  const { signal } = options;
  const context = { source: sourceName(source), acceptTruncated: options.truncated === 'accept' };
  let sampleCount = 0;
  let lastBreath = performance.now();
  signal?.throwIfAborted();
  const pieces = isPcmAudio(source) ? pcmPieces(source) : filePieces(source, options, context);
  for await (const piece of pieces) {
    signal?.throwIfAborted();
    checkPiece(piece, sampleCount, source, context);
    sampleCount += piece.channels[0]!.length;
    yield piece;
    // Decoding is synchronous; without this, a file in memory would not let anything else run.
    if (performance.now() - lastBreath > BREATH_MS) {
      await setImmediate();
      lastBreath = performance.now();
    }
  }
  signal?.throwIfAborted();
  if (sampleCount === 0) {
    throw new CorruptFileError({ rule: 'NoSamples', path: context.source, reason: 'it holds no samples' });
  }
}

async function* filePieces(
  source: AudioBytes,
  options: DecodeOptions,
  context: DecodeContext,
): AsyncGenerator<SamplePiece> {
  const counted = countBytes(source, options.onProgress);
  const bytes = options.pcm === undefined ? withoutId3(counted) : counted;
  let decoder: SoundDecoder | null = null;
  let head = new Uint8Array(0);
  try {
    for await (const chunk of bytes) {
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
