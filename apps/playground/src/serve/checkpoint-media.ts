import type { AudioModel } from '@markbase/audio';
import { ContextLengthError, hasErrorCode } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import type { Device, SoftTokens } from '@markbase/metal-runtime';
import type { AudioEncoding, MediaEncoder } from '@markbase/text';

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
        encodeAudio: (bytes, encoding) => encodeAudio(audio, bytes, encoding),
      }),
    },
    audio,
    [Symbol.dispose]() {
      vision?.dispose();
      audio?.dispose();
    },
  };
}

/** Stops reading a sound as soon as it has more soft tokens than there is room for. @throws ContextLengthError */
async function encodeAudio(
  audio: AudioModel,
  bytes: Uint8Array,
  { signal, maxTokens = Number.POSITIVE_INFINITY }: AudioEncoding,
): Promise<SoftTokens[]> {
  const encoded: SoftTokens[] = [];
  let promptTokens = 0;
  for await (const { softTokens } of audio.encodeEach(bytes, { ...(signal && { signal }) })) {
    encoded.push(softTokens);
    promptTokens += softTokens.rows;
    if (promptTokens >= maxTokens) throw new ContextLengthError({ promptTokens, maxTokens, isLeast: true });
  }
  return encoded;
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
