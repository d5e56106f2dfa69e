import type { MediaEncoders, MessagePart } from '@markbase/gemma';
import type { ContentPart, TextModel } from '@markbase/text';
import { note } from './progress.js';

/** The flags that name media, in the order in which the media precede the prompt. */
export interface MediaFlags {
  readonly image: readonly string[];
  readonly audio: readonly string[];
  readonly video?: string;
  /** Maximum number of frames of the video. */
  readonly videoFrames?: number;
  readonly imageTokens?: number;
}

/**
 * Encodes media with the encoders of the checkpoint; returns parts of the user's message.
 *
 * @throws the errors of the encoders; UnsupportedModelError if the checkpoint has none
 */
export async function encodeMedia(
  { image, audio, video, videoFrames, imageTokens }: MediaFlags,
  text: TextModel,
  media: MediaEncoders,
  signal: AbortSignal | undefined,
): Promise<ContentPart[]> {
  const files = [...image, ...(video === undefined ? [] : [video]), ...audio];
  if (files.length === 0) return [];
  const { encodeParts } = await import('@markbase/gemma');
  const parts: MessagePart[] = [
    ...image.map((path) => ({ image: path, ...(imageTokens !== undefined && { tokens: imageTokens }) })),
    ...(video === undefined ? [] : [{ video, ...(videoFrames !== undefined && { maxFrames: videoFrames }) }]),
    ...audio.map((path) => ({ audio: path })),
  ];
  note(`encoding ${files.join(', ')}`);
  return encodeParts(parts, { text, media, ...(signal && { signal }) });
}
