import { CorruptFileError, hasErrorCode, UnsupportedMediaError } from '@markbase/core';
import { ffmpegInput, lastMessage, missingBytes, runFfmpeg, truncationMessage } from '@markbase/loader';
import { ChunkDecoder } from '../chunks/chunk-decoder.js';
import { checkTruncated, READABLE } from '../decode-errors.js';
import type { DecodeContext, SamplePiece } from '../sound-decoder.js';
import { WAV_LAYOUT } from '../wav/wav-layout.js';
import { SOUND_CONTAINERS, SOUND_DECODERS } from './sound-codecs.js';

/** What ffmpeg decodes, and why. */
export interface ExternalSound {
  /** Absolute path of the file. */
  readonly path: string;
  /** Name or path of the program. */
  readonly ffmpeg: string;
  /** Why it is needed, such as "MP4" or "WAV with codec 2", for the error when it is not installed. */
  readonly need: string;
  readonly signal?: AbortSignal;
}

/**
 * The first sound of a file in any container and codec that ffmpeg knows, as float32: it writes a WAV of unknown length into a pipe.
 *
 * @throws UnsupportedMediaError without ffmpeg, and for a file without sound; CorruptFileError when ffmpeg fails, or the file is truncated
 */
export async function* decodeWithFfmpeg(
  sound: ExternalSound,
  context: DecodeContext,
): AsyncGenerator<SamplePiece> {
  let truncation: string | null = null;
  const missing = await missingBytes(sound.path);
  if (missing > 0) checkTruncated(context, `the file lacks ${missing} bytes`);
  const check = (messages: string, exitCode: number | null) => {
    truncation = truncationMessage(messages);
    return exitCode === 0 ? null : failure(sound, context, messages, exitCode);
  };
  const decoder = new ChunkDecoder(WAV_LAYOUT, context);
  const run = { command: sound.ffmpeg, args: soundArgs(sound, context), check };
  try {
    for await (const bytes of runFfmpeg({ ...run, ...(sound.signal && { signal: sound.signal }) })) {
      yield* decoder.push(bytes);
    }
  } catch (error) {
    throw hasErrorCode(error, 'FILE_ACCESS') ? notInstalled(sound, context, error) : error;
  }
  if (truncation !== null) checkTruncated(context, truncation);
  yield* decoder.finish();
}

function soundArgs({ path }: ExternalSound, { maxSeconds }: DecodeContext): string[] {
  const input = ffmpegInput({ path, containers: SOUND_CONTAINERS, decoders: SOUND_DECODERS });
  // One second more than allowed shows that a sound is too long.
  const limit = Number.isFinite(maxSeconds) ? ['-t', String(maxSeconds + 1)] : [];
  const output = ['-vn', '-sn', '-dn', '-c:a', 'pcm_f32le', '-f', 'wav', 'pipe:1'];
  return ['-threads', '1', ...input, '-map', '0:a:0', ...limit, ...output];
}

function failure(
  { path, need }: ExternalSound,
  context: DecodeContext,
  messages: string,
  exitCode: number | null,
): Error {
  if (/matches no streams/.test(messages)) {
    return new UnsupportedMediaError({ media: 'audio', source: context.source, reason: 'it has no sound' });
  }
  const truncated = truncationMessage(messages);
  const reason =
    truncated ?? (lastMessage(messages).replaceAll(path, context.source) || `exit code ${exitCode}`);
  return new CorruptFileError({
    rule: truncated === null ? 'UndecodableAudio' : 'TruncatedAudio',
    path: context.source,
    reason: `ffmpeg cannot decode it as ${need}: ${reason}`,
  });
}

function notInstalled(
  { need }: ExternalSound,
  context: DecodeContext,
  cause: unknown,
): UnsupportedMediaError {
  const reason = `${need} is decoded by ffmpeg, which is not installed: install it, or use ${READABLE}`;
  return new UnsupportedMediaError({ media: 'audio', source: context.source, reason, cause });
}
