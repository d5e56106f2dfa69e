import { InvalidArgumentError, UnsupportedModelError } from '@markbase/core';
import type { ModelConfig } from '../config/model-config.js';

/** Sample rate of the audio that is counted. */
export const AUDIO_SAMPLE_RATE_HZ = 16_000;
/** Longest audio that the tower takes in one piece: 30 s. */
export const MAX_AUDIO_SAMPLES = 480_000;

/** What a piece of audio becomes. */
export interface AudioTokens {
  /** Rows that the audio takes in the prompt; 0 = too short for any. */
  readonly softTokens: number;
  /** Soft tokens and the two delimiters around them. */
  readonly promptTokens: number;
  /** Mel frames, padding included; 0 for a model without a tower. */
  readonly frameCount: number;
  /** Frames whose last sample is real, not padding. */
  readonly validFrameCount: number;
  /** Samples beyond the longest piece that the model takes; split the audio to use them. */
  readonly droppedSamples: number;
}

const PAD_MULTIPLE = 128;
const FRAME_STEP = 160;
const FRAME_LENGTH = 321;
const DELIMITERS = 2;
const UNIFIED_SAMPLES_PER_TOKEN = 640;

/**
 * Soft tokens of audio in a model with an audio tower (E2B, E4B).
 *
 * n samples, at most 480,000, are padded to a multiple of 128 with 160 zeros in front; frames of 321 samples begin every
 * 160. Frame i is valid when `160 i + 320 < 160 + n`. v valid frames pass two convolutions of stride 2:
 * `t = ceil(ceil(v / 2) / 2)`.
 *
 * @param sampleCount samples at 16 kHz, one channel
 * @throws InvalidArgumentError if it is not a whole number from 0
 */
export function audioTowerTokens(sampleCount: number): AudioTokens {
  checkSamples(sampleCount);
  const used = Math.min(sampleCount, MAX_AUDIO_SAMPLES);
  const padded = Math.ceil(used / PAD_MULTIPLE) * PAD_MULTIPLE;
  const frameCount = Math.max(0, Math.floor((padded + FRAME_STEP - FRAME_LENGTH) / FRAME_STEP) + 1);
  const validFrameCount = Math.min(frameCount, Math.max(0, Math.ceil((used - FRAME_STEP) / FRAME_STEP)));
  const softTokens = halved(halved(validFrameCount));
  return {
    softTokens,
    promptTokens: softTokens + DELIMITERS,
    frameCount,
    validFrameCount,
    droppedSamples: sampleCount - used,
  };
}

/**
 * Soft tokens of audio in a model without an audio tower (12B): `ceil(n / samplesPerToken)`, with no upper limit.
 *
 * @param sampleCount samples at 16 kHz, one channel
 */
export function unifiedAudioTokens(
  sampleCount: number,
  samplesPerToken = UNIFIED_SAMPLES_PER_TOKEN,
): AudioTokens {
  checkSamples(sampleCount);
  const softTokens = Math.ceil(sampleCount / samplesPerToken);
  return {
    softTokens,
    promptTokens: softTokens + DELIMITERS,
    frameCount: 0,
    validFrameCount: 0,
    droppedSamples: 0,
  };
}

/**
 * Soft tokens of audio in the model of a config.
 *
 * @throws UnsupportedModelError if the model takes no audio
 */
export function audioTokens(sampleCount: number, config: ModelConfig): AudioTokens {
  if (config.family === 'gemma4_assistant' || config.audio === null) {
    throw new UnsupportedModelError({
      modelType: config.modelType,
      reason: 'its config has no audio_config, so it takes no audio; use E2B, E4B or 12B',
    });
  }
  return config.family === 'gemma4'
    ? audioTowerTokens(sampleCount)
    : unifiedAudioTokens(sampleCount, config.audio.samplesPerToken);
}

/** Length after a convolution of kernel 3, stride 2 and padding 1. */
function halved(length: number): number {
  return Math.ceil(length / 2);
}

function checkSamples(sampleCount: number): void {
  if (Number.isSafeInteger(sampleCount) && sampleCount >= 0) return;
  throw new InvalidArgumentError({
    argument: 'sampleCount',
    expected: 'a whole number of samples, from 0',
    received: sampleCount,
  });
}
