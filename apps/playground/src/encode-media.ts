import { ContextLengthError } from '@markbase/core';
import type { SoftTokens } from '@markbase/metal-runtime';
import type { ContentPart, SoftTokensPart, TextModel, VideoPart } from '@markbase/text';
import { note } from './progress.js';

/** The flags that name media, in the order in which the media precede the prompt. */
export interface MediaFlags {
  readonly image: readonly string[];
  readonly audio: readonly string[];
  readonly video?: string;
  /** Maximum number of frames of the video. */
  readonly videoFrames?: number;
  readonly imageTokens?: number;
  readonly precision: 'high' | 'fast';
}

/**
 * Encodes media with the encoders of the checkpoint; returns parts of the user's message.
 *
 * @throws the errors of the encoders; UnsupportedModelError if the checkpoint has none
 */
export async function encodeMedia(
  flags: MediaFlags,
  model: TextModel,
  signal: AbortSignal | undefined,
): Promise<ContentPart[]> {
  const parts: MediaParts = [];
  if (flags.image.length > 0 || flags.video !== undefined) await addPictures(parts, flags, model, signal);
  if (flags.audio.length > 0) await addSounds(parts, flags, model, signal);
  return parts;
}

type MediaParts = (SoftTokensPart | VideoPart)[];

/** Tokens that remain in the context after the parts. @throws ContextLengthError if there are none */
function roomBeside(parts: MediaParts, { settings: { contextTokens } }: TextModel): number {
  const encoded = parts.flatMap((part): readonly { softTokens: SoftTokens }[] =>
    part.type === 'video' ? part.frames : [part],
  );
  const promptTokens = encoded.reduce((sum, { softTokens }) => sum + softTokens.rows, 0);
  if (promptTokens < contextTokens) return contextTokens - promptTokens;
  throw new ContextLengthError({ promptTokens, maxTokens: contextTokens, isLeast: true });
}

async function addPictures(
  parts: MediaParts,
  { image, video, videoFrames: maxFrames, imageTokens: budget, precision }: MediaFlags,
  model: TextModel,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { VisionModel } = await import('@markbase/vision');
  const interrupt = signal && { signal };
  using vision = await VisionModel.load(model.checkpoint, model.device, { precision, ...interrupt });
  note(`encoding ${[...image, ...(video === undefined ? [] : [video])].join(', ')}`);
  const images = await vision.encode(image, { ...(budget !== undefined && { budget }), ...interrupt });
  parts.push(...images.map((softTokens): SoftTokensPart => ({ type: 'image', softTokens })));
  if (video === undefined) return;
  const frames = await vision.encodeVideo(video, {
    maxTokens: roomBeside(parts, model),
    ...(maxFrames !== undefined && { maxFrames }),
    ...interrupt,
  });
  parts.push({ type: 'video', frames });
}

/** One part per segment: sounds longer than 30 s are split at quiet places. */
async function addSounds(
  parts: MediaParts,
  { audio: files, precision }: MediaFlags,
  model: TextModel,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { AudioModel } = await import('@markbase/audio');
  const interrupt = signal && { signal };
  using audio = await AudioModel.load(model.checkpoint, model.device, { precision, ...interrupt });
  note(`encoding ${files.join(', ')}`);
  for (const file of files) {
    const maxTokens = roomBeside(parts, model);
    for (const { softTokens } of await audio.encode(file, { maxTokens, ...interrupt })) {
      parts.push({ type: 'audio', softTokens });
    }
  }
}
