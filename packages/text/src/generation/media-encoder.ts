import { hasErrorCode } from '@markbase/core';
import type { SoftTokens } from '@markbase/metal-runtime';
import type { SoftTokensPart, VideoPart } from './expand-media.js';

/** Options for encoding an image. */
export interface ImageEncoding {
  /** Maximum number of soft tokens: 70, 140, 280, 560 or 1120; default: the checkpoint's. */
  readonly budget?: number;
  /** Aborts the encoding, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options for encoding a video. */
export interface VideoEncoding extends ImageEncoding {
  /** Maximum number of tokens; a video uses fewer frames, or is refused (ContextLengthError). */
  readonly maxTokens?: number;
}

/** Options for encoding a sound. */
export interface AudioEncoding {
  /** Container format that the caller names, such as 'wav' or 'mp3'; the bytes take precedence. */
  readonly format?: string;
  /** Maximum number of soft tokens; a sound with more is refused (ContextLengthError) before it is encoded. */
  readonly maxTokens?: number;
  /** Aborts the encoding, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Turns media files into soft tokens, for servers and providers. Kinds that the model does not support are undefined.
 * Implement it with @markbase/vision and @markbase/audio.
 */
export interface MediaEncoder {
  /** Encodes the bytes of an image file. */
  encodeImage?(bytes: Uint8Array, options: ImageEncoding): Promise<SoftTokens>;
  /** Returns one entry per piece; a long sound is split into several. */
  encodeAudio?(bytes: Uint8Array, options: AudioEncoding): Promise<readonly SoftTokens[]>;
  /** Encodes the bytes of a video file; returns one entry per sampled frame. */
  encodeVideo?(bytes: Uint8Array, options: VideoEncoding): Promise<VideoPart['frames']>;
}

/** What is wrong with the sound of a video whose frames can still be shown: no sound, too long, or damaged. */
const FRAMES_ONLY = ['UNSUPPORTED_MEDIA', 'CONTEXT_LENGTH', 'CORRUPT_FILE'];

/**
 * The parts of a message for the bytes of a video file: its frames, then the pieces of its sound if the model hears. The sound gets half
 * of the tokens that the frames leave; a video whose sound is longer, damaged or missing has frames only.
 *
 * @param encoder with `encodeVideo`
 * @throws as `encodeVideo`; as `encodeAudio` for other reasons, such as an abort
 */
export async function encodeVideoParts(
  encoder: MediaEncoder,
  bytes: Uint8Array,
  options: VideoEncoding,
): Promise<(VideoPart | SoftTokensPart)[]> {
  const { signal, maxTokens } = options;
  const frames = await encoder.encodeVideo!(bytes, options);
  const parts: (VideoPart | SoftTokensPart)[] = [{ type: 'video', frames }];
  if (!encoder.encodeAudio) return parts;
  const taken = frames.reduce((sum, { softTokens }) => sum + softTokens.rows, 0);
  const room = maxTokens === undefined ? {} : { maxTokens: Math.max(1, Math.floor((maxTokens - taken) / 2)) };
  try {
    const sound = await encoder.encodeAudio(bytes, { ...(signal && { signal }), ...room });
    return [...parts, ...sound.map((softTokens) => ({ type: 'audio' as const, softTokens }))];
  } catch (error) {
    if (FRAMES_ONLY.some((code) => hasErrorCode(error, code))) return parts;
    throw error;
  }
}
