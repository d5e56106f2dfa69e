import type { ModelConfig } from '@markbase/loader';
import type { MediaEncoder } from '@markbase/text';
import type { MediaSupport } from './playground-types.js';

/** What the page needs to count the tokens of media before sending them. */
export function mediaSupport(config: ModelConfig, encoder: MediaEncoder): MediaSupport {
  if (config.family === 'gemma4_assistant') return { image: null, audio: null };
  const { vision, audio } = config;
  return {
    image:
      vision && encoder.encodeImage
        ? {
            patchSize: vision.patchSize,
            poolingKernelSize: vision.poolingKernelSize,
            defaultBudget: vision.defaultSoftTokens,
          }
        : null,
    audio:
      audio && encoder.encodeAudio
        ? { samplesPerToken: 'samplesPerToken' in audio ? audio.samplesPerToken : null }
        : null,
  };
}
