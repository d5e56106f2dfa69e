import type { SoftTokens } from '@markbase/metal-runtime';
import type { VideoPart } from './expand-media.js';

/** Options for encoding an image. */
export interface ImageEncoding {
  /** Maximum number of soft tokens: 70, 140, 280, 560 or 1120; default: the checkpoint's. */
  readonly budget?: number;
  /** Maximum number of tokens; a video uses fewer frames, or is refused (ContextLengthError). */
  readonly maxTokens?: number;
  /** Aborts the encoding, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
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
  encodeVideo?(bytes: Uint8Array, options: ImageEncoding): Promise<VideoPart['frames']>;
}
