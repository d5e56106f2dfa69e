import type { AudioModel } from '@markbase/audio';
import { hasErrorCode } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import type { MediaEncoder } from '@markbase/text';

/** The encoders of a checkpoint. */
export interface CheckpointMedia extends Disposable {
  readonly encoder: MediaEncoder;
  readonly audio: AudioModel | null;
}

/** Options for loading encoders. */
export interface CheckpointMediaOptions {
  readonly precision: 'high' | 'fast';
  readonly signal?: AbortSignal;
}

/**
 * Loads the encoders that a checkpoint has weights for. Clients send video as frames: decoding a container would need
 * an external program, which must not be given untrusted input from the network.
 */
export async function loadCheckpointMedia(
  checkpoint: Checkpoint,
  device: Device,
  options: CheckpointMediaOptions,
): Promise<CheckpointMedia> {
  const { VisionModel } = await import('@markbase/vision');
  const { AudioModel } = await import('@markbase/audio');
  const vision = await unlessUnsupported(VisionModel.load(checkpoint, device, options));
  const audio = await unlessUnsupported(AudioModel.load(checkpoint, device, options));
  return {
    encoder: {
      ...(vision && { encodeImage: (bytes, encoding) => vision.encode(bytes, encoding) }),
      ...(audio && {
        encodeAudio: async (bytes, { format: _, ...encoding }) =>
          (await audio.encode(bytes, encoding)).map(({ softTokens }) => softTokens),
      }),
    },
    audio,
    [Symbol.dispose]() {
      vision?.dispose();
      audio?.dispose();
    },
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
