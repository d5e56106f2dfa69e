import type { AudioModel } from '@markbase/audio';
import { type FileAccessError, hasErrorCode, UnsupportedMediaError } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import type { MediaEncoder } from '@markbase/text';
import type { VisionModel } from '@markbase/vision';
import { Lazy } from '../loading/lazy.js';

/** How the encoders of a checkpoint compute. */
export interface MediaEncodersOptions {
  /** `high` computes in float32, `fast` in reduced precision. */
  readonly precision: 'high' | 'fast';
}

/** The encoders of a checkpoint for pictures and sound, each loaded when it is first needed. */
export class MediaEncoders implements Disposable {
  readonly #vision: Lazy<VisionModel>;
  readonly #audio: Lazy<AudioModel>;

  constructor(checkpoint: Checkpoint, device: Device, { precision }: MediaEncodersOptions) {
    this.#vision = new Lazy(async () => {
      const { VisionModel } = await import('@markbase/vision');
      return VisionModel.load(checkpoint, device, { precision });
    });
    this.#audio = new Lazy(async () => {
      const { AudioModel } = await import('@markbase/audio');
      return AudioModel.load(checkpoint, device, { precision });
    });
  }

  /** The encoder of images and video. @throws UnsupportedModelError if the model takes none; as `VisionModel.load` */
  vision(): Promise<VisionModel> {
    return this.#vision.get();
  }

  /** The encoder of sound. @throws UnsupportedModelError if the model takes none; as `AudioModel.load` */
  audio(): Promise<AudioModel> {
    return this.#audio.get();
  }

  /** Frees the encoders that have been loaded. */
  dispose(): void {
    this.#vision.dispose();
    this.#audio.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** How a server reads media. */
export interface ServedMediaOptions {
  /** False: nothing that clients send is given to ffmpeg; default true. */
  readonly usesFfmpeg?: boolean;
  /** Called with a sentence about damage of a file that did not matter. */
  readonly onWarning?: (message: string) => void;
}

/** All encoders of a checkpoint, for a server. */
export interface ServedMedia {
  /** Encodes the bytes that clients send. */
  readonly encoder: MediaEncoder;
  /** The encoder of sound, for transcriptions; null if the model takes none. */
  readonly audio: AudioModel | null;
}

/**
 * Loads all encoders that the checkpoint has weights for, so that no request waits for them. Videos, and sounds that are not decoded here,
 * go to the installed ffmpeg, restricted to containers that cannot name other files, and for sounds to decoders of sound.
 *
 * @throws as `VisionModel.load` and `AudioModel.load`; the signal's reason when aborted
 */
export async function loadServedMedia(
  media: MediaEncoders,
  signal?: AbortSignal,
  { usesFfmpeg = true, onWarning }: ServedMediaOptions = {},
): Promise<ServedMedia> {
  const vision = await unlessUnsupported(media.vision());
  signal?.throwIfAborted();
  const audio = await unlessUnsupported(media.audio());
  signal?.throwIfAborted();
  const ffmpeg = usesFfmpeg ? {} : { ffmpeg: false as const };
  const encoder: MediaEncoder = {
    ...(vision && {
      encodeImage: (bytes, encoding) =>
        vision.encode(bytes, { ...encoding, ...(onWarning && { onWarning }) }),
    }),
    ...(vision && usesFfmpeg && { encodeVideo: videoEncoder(vision) }),
    ...(audio && {
      encodeAudio: async (bytes, encoding) =>
        (await audio.encode(bytes, { ...encoding, ...ffmpeg })).map(({ softTokens }) => softTokens),
    }),
  };
  return { encoder, audio };
}

/** Share of the context that the frames of a video may take; the rest is for text and sound. */
const VIDEO_SHARE = 0.75;

function videoEncoder(vision: VisionModel): NonNullable<MediaEncoder['encodeVideo']> {
  return async (bytes, { maxTokens, ...encoding }) => {
    const room = maxTokens === undefined ? {} : { maxTokens: Math.floor(maxTokens * VIDEO_SHARE) };
    try {
      return await vision.encodeVideo(bytes, { ...encoding, ...room });
    } catch (error) {
      if (!hasErrorCode(error, 'FILE_ACCESS')) throw error;
      const reason = `ffmpeg: ${(error as FileAccessError).reason}`;
      throw new UnsupportedMediaError({ media: 'video', source: 'video bytes', reason, cause: error });
    }
  };
}

/** null if the model does not have this part. */
async function unlessUnsupported<Model>(loading: Promise<Model>): Promise<Model | null> {
  try {
    return await loading;
  } catch (error) {
    if (hasErrorCode(error, 'UNSUPPORTED_MODEL')) return null;
    throw error;
  }
}
