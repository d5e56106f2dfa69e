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
  const parts: ContentPart[] = [];
  if (flags.image.length > 0 || flags.video !== undefined) {
    parts.push(...(await encodePictures(flags, model, signal)));
  }
  if (flags.audio.length > 0) parts.push(...(await encodeSounds(flags, model, signal)));
  return parts;
}

async function encodePictures(
  { image, video, videoFrames: maxFrames, imageTokens: budget, precision }: MediaFlags,
  { checkpoint, device }: TextModel,
  signal: AbortSignal | undefined,
): Promise<ContentPart[]> {
  const { VisionModel } = await import('@markbase/vision');
  const interrupt = signal && { signal };
  using vision = await VisionModel.load(checkpoint, device, { precision, ...interrupt });
  note(`encoding ${[...image, ...(video === undefined ? [] : [video])].join(', ')}`);
  const images = await vision.encode(image, { ...(budget !== undefined && { budget }), ...interrupt });
  const parts: ContentPart[] = images.map((softTokens): SoftTokensPart => ({ type: 'image', softTokens }));
  if (video === undefined) return parts;
  const frames = await vision.encodeVideo(video, {
    ...(maxFrames !== undefined && { maxFrames }),
    ...interrupt,
  });
  const part: VideoPart = { type: 'video', frames };
  return [...parts, part];
}

/** One part per segment: sounds longer than 30 s are split at quiet places. */
async function encodeSounds(
  { audio: files, precision }: MediaFlags,
  { checkpoint, device }: TextModel,
  signal: AbortSignal | undefined,
): Promise<ContentPart[]> {
  const { AudioModel } = await import('@markbase/audio');
  const interrupt = signal && { signal };
  using audio = await AudioModel.load(checkpoint, device, { precision, ...interrupt });
  note(`encoding ${files.join(', ')}`);
  const parts: ContentPart[] = [];
  for (const file of files) {
    for (const { softTokens } of await audio.encode(file, { ...interrupt }))
      parts.push({ type: 'audio', softTokens });
  }
  return parts;
}
