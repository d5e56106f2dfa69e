import { NativeAddonLoadError } from '@markbase/core';
import type sharp from 'sharp';

/** The decoder library's entry function. */
export type Sharp = typeof sharp;

/**
 * Loads the decoders when the first picture has to be decoded; raw pixels need none.
 *
 * @throws NativeAddonLoadError when sharp has no binary for this platform
 */
export async function loadSharp(): Promise<Sharp> {
  try {
    return (await import('sharp')).default;
  } catch (error) {
    throw new NativeAddonLoadError({
      platform: `${process.platform}-${process.arch}`,
      attempts: [`sharp: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`],
      hint: 'Install sharp with its optional packages for this platform, or pass raw pixels: { data, width, height, channels }',
    });
  }
}
