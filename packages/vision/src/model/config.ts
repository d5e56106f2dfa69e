import { UnsupportedModelError } from '@markbase/core';
import type { Checkpoint, UnifiedVisionConfig, VisionTowerConfig } from '@markbase/loader';

/** Sizes of the part that turns patches into soft tokens: a tower, or the encoder-free embedder of 12B. */
export type VisionConfig = { readonly modelType: string; readonly outputWidth: number } & (
  | ({ readonly kind: 'tower' } & VisionTowerConfig)
  | ({ readonly kind: 'unified' } & UnifiedVisionConfig)
);

/** A tower's part of `VisionConfig`. */
export type TowerConfig = Extract<VisionConfig, { kind: 'tower' }>;

/** The unified embedder's part of `VisionConfig`. */
export type UnifiedConfig = Extract<VisionConfig, { kind: 'unified' }>;

/**
 * Reads the sizes of the vision part from a checkpoint's configuration.
 *
 * @throws UnsupportedModelError when the model takes no images: text-only conversions, drafters
 */
export function visionConfig({
  config,
  absent,
}: Pick<Checkpoint, 'config'> & Partial<Pick<Checkpoint, 'absent'>>): VisionConfig {
  const { modelType } = config;
  const outputWidth = config.text.hiddenSize;
  if (config.family === 'gemma4' && config.vision) {
    return { kind: 'tower', modelType, outputWidth, ...config.vision };
  }
  if (config.family === 'gemma4_unified' && config.vision) {
    return { kind: 'unified', modelType, outputWidth, ...config.vision };
  }
  throw new UnsupportedModelError({
    modelType,
    reason: `this checkpoint takes no images: ${absent?.vision ?? 'config.json has no vision_config'}`,
  });
}
