import type { ContentPart, SoftTokensPart, TextModel, VideoPart } from '@markbase/text';
import { note } from './progress.js';

/** The flags that name media, in the order in which they come before the prompt. */
export interface MediaFlags {
  readonly image: readonly string[];
  readonly audio: readonly string[];
  readonly video?: string;
  /** Most frames of the video. */
  readonly videoFrames?: number;
  readonly imageTokens?: number;
  readonly precision: 'high' | 'fast';
}

/**
 * Runs media through the encoders of the checkpoint: the parts of a user's message.
 *
 * @throws what the encoders throw; UnsupportedModelError when the checkpoint has none
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
  note(`looking at ${[...image, ...(video === undefined ? [] : [video])].join(', ')}`);
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

/** A part for every segment: what is longer than 30 s is cut at quiet places. */
async function encodeSounds(
  { audio: files, precision }: MediaFlags,
  { checkpoint, device }: TextModel,
  signal: AbortSignal | undefined,
): Promise<ContentPart[]> {
  const { AudioModel } = await import('@markbase/audio');
  const interrupt = signal && { signal };
  using audio = await AudioModel.load(checkpoint, device, { precision, ...interrupt });
  note(`listening to ${files.join(', ')}`);
  const parts: ContentPart[] = [];
  for (const file of files) {
    for (const { softTokens } of await audio.encode(file, { ...interrupt }))
      parts.push({ type: 'audio', softTokens });
  }
  return parts;
}
