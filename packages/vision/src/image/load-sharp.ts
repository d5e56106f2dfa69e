import { NativeAddonLoadError } from '@markbase/core';
import type sharp from 'sharp';

/** The decoder library's entry function. */
export type Sharp = typeof sharp;

/**
 * Loads the decoders before the first picture: reading megabytes of code from a slow disk holds the event loop for a second. If they are
 * missing, the first picture that has to be decoded says so; raw pixels need none.
 */
export async function preloadSharp(): Promise<void> {
  await import('sharp').catch(() => undefined);
}

/**
 * The decoders.
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
