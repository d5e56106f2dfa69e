import { audioTowerTokens, imageTokens, unifiedAudioTokens } from '@markbase/loader/browser';
import type { MediaSupport } from '../model/model-state.js';
import type { Attachment } from './attachment.js';

/** Budget of one video frame. */
export const FRAME_BUDGET = 70;

/** Of English text and code; only the tokenizer knows better. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * Number of prompt tokens of an attachment, delimiters included; null if the model does not support it.
 *
 * For text it is an estimate. For a video, its frames are counted; their timestamps are ordinary text and come in addition.
 */
export function tokenCount(attachment: Attachment, media: MediaSupport): number | null {
  if (attachment.kind === 'text') return Math.ceil(attachment.text.length / CHARACTERS_PER_TOKEN);
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
