import { audioTowerTokens, imageTokens, unifiedAudioTokens } from '@markbase/loader/browser';
import type { MediaSupport } from '../model/model-state.js';
import type { Attachment } from './attachment.js';

/** Budget of one frame of a video. */
export const FRAME_BUDGET = 70;

/**
 * Prompt tokens that an attachment takes, delimiters included; null when the model does not take it.
 *
 * A video counts its frames; their timestamps are ordinary text and come on top.
 */
export function tokenCount(attachment: Attachment, media: MediaSupport): number | null {
  if (attachment.kind === 'audio') {
    if (!media.audio) return null;
    const { sampleCount } = attachment;
    const { samplesPerToken } = media.audio;
    return (
      samplesPerToken === null
        ? audioTowerTokens(sampleCount)
        : unifiedAudioTokens(sampleCount, samplesPerToken)
    ).promptTokens;
  }
  if (!media.image) return null;
  const budget = attachment.kind === 'image' ? attachment.budget : FRAME_BUDGET;
  const { promptTokens } = imageTokens(attachment, budget, media.image);
  return attachment.kind === 'image' ? promptTokens : promptTokens * attachment.frames.length;
}
