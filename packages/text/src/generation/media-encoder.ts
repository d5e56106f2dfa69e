import type { SoftTokens } from '@markbase/metal-runtime';
import type { VideoPart } from './expand-media.js';

/** How an image is encoded. */
export interface ImageEncoding {
  /** Most soft tokens: 70, 140, 280, 560 or 1120; default: what the checkpoint says. */
  readonly budget?: number;
  readonly signal?: AbortSignal;
}

/** How a sound is encoded. */
export interface AudioEncoding {
  /** Container that the caller names, such as 'wav' or 'mp3'; the bytes have the last word. */
  readonly format?: string;
  readonly signal?: AbortSignal;
}

/**
 * Turns media into soft tokens, for servers and providers that are given files. A kind that the model does not take is
 * left out; @markbase/vision and @markbase/audio do the work.
 */
export interface MediaEncoder {
  encodeImage?(bytes: Uint8Array, options: ImageEncoding): Promise<SoftTokens>;
  /** One entry per piece of a sound that is too long for one. */
  encodeAudio?(bytes: Uint8Array, options: AudioEncoding): Promise<readonly SoftTokens[]>;
  encodeVideo?(bytes: Uint8Array, options: ImageEncoding): Promise<VideoPart['frames']>;
}
