import { InvalidConfigError, UnsupportedModelError } from '@markbase/core';
import type { AudioTowerConfig, Checkpoint } from '@markbase/loader';

/** The kind of a model's audio part. */
export type EncoderConfig = TowerEncoderConfig | FrameEncoderConfig;

/** The conformer of E2B and E4B. */
export interface TowerEncoderConfig {
  readonly kind: 'tower';
  /** Sizes of the conformer. */
  readonly tower: AudioTowerConfig;
  /** Keys that a query sees, itself included; see `attentionReach`. */
  readonly reach: number;
  /** D of the text model. */
  readonly textWidth: number;
}

/** 12B: frames of samples go through one projection. */
export interface FrameEncoderConfig {
  readonly kind: 'frames';
  /** Samples at 16 kHz of one soft token. */
  readonly samplesPerToken: number;
  /** Added to the mean square in the norm. */
  readonly normEps: number;
  /** D of the text model. */
  readonly textWidth: number;
}

/**
 * Keys that a query of the tower sees, itself included: `attention_context_left - 1`, 12 in the released models.
 *
 * The table of relative positions has `attention_context_left` = 13 rows, for the distances 0 to 12, and two public
 * implementations (google-deepmind/gemma, mlx-vlm) let a query see all 13 of them. transformers uses the same number as an
 * exclusive bound, `0 ≤ distance < 12`, and so does llama.cpp. This engine follows transformers: the reference outputs were
 * made with it, and agree with 12 keys to 1e-6.
 */
export function attentionReach(contextLeft: number): number {
  return contextLeft - 1;
}

/**
 * The audio part of a checkpoint.
 *
 * @throws UnsupportedModelError for models without one (26B-A4B, 31B, drafters), and for towers that look ahead
 */
export function encoderConfig(
  checkpoint: Pick<Checkpoint, 'config' | 'directory'> & Partial<Pick<Checkpoint, 'absent'>>,
): EncoderConfig {
  const { config } = checkpoint;
  const textWidth = config.text.hiddenSize;
  if (config.family === 'gemma4' && config.audio !== null) {
    return towerConfig(checkpoint, config.audio, config.modelType, textWidth);
  }
  if (config.family === 'gemma4_unified' && config.audio !== null) {
    const { samplesPerToken, rmsNormEps } = config.audio;
    return { kind: 'frames', samplesPerToken, normEps: rmsNormEps, textWidth };
  }
  const reason = checkpoint.absent?.audio ?? 'config.json has no audio_config';
  throw new UnsupportedModelError({
    modelType: config.modelType,
    reason: `this checkpoint takes no sound: ${reason}`,
  });
}

function towerConfig(
  { directory }: Pick<Checkpoint, 'directory'>,
  tower: AudioTowerConfig,
  modelType: string,
  textWidth: number,
): TowerEncoderConfig {
  if (tower.contextRight !== 0) {
    throw new UnsupportedModelError({
      modelType,
      reason: `its audio tower looks ${tower.contextRight} steps ahead (attention_context_right); expected 0`,
    });
  }
  const reach = attentionReach(tower.contextLeft);
  if (reach < 1) {
    throw new InvalidConfigError({
      path: `${directory}/config.json`,
      key: 'audio_config.attention_context_left',
      expected: 'at least 2',
      received: tower.contextLeft,
    });
  }
  return { kind: 'tower', tower, reach, textWidth };
}
