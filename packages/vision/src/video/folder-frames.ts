import { readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { FileAccessError } from '@markbase/core';
import { DEFAULT_FRAMES_PER_SECOND } from '@markbase/loader';
import { type DecodeOptions, decodeImage } from '../image/index.js';
import type { OpenedVideo } from './video-frame.js';

const IMAGE_EXTENSIONS = new Set([
  '.png',
  '.jpg',
  '.jpeg',
  '.webp',
  '.gif',
  '.avif',
  '.tif',
  '.tiff',
  '.bmp',
]);

/**
 * The pictures of a folder as the frames of a video, in natural order: `frame2.png` comes before `frame10.png`.
 *
 * Other files, hidden files and folders are ignored. Frame i is shown at i / framesPerSecond.
 *
 * @throws FileAccessError for a folder without pictures
 */
export async function openFolder(
  path: string,
  framesPerSecond = DEFAULT_FRAMES_PER_SECOND,
  options: DecodeOptions = {},
): Promise<OpenedVideo> {
  const names = await pictureNames(path);
  return {
    startSeconds: names.map((_, index) => index / framesPerSecond),
    durationSeconds: names.length / framesPerSecond,
    async *frames(indices) {
      for (const index of indices) {
        const image = await decodeImage(join(path, names[index]!), options);
        yield { index, timestampSeconds: index / framesPerSecond, image };
      }
    },
  };
}

async function pictureNames(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  const names = entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .filter((name) => IMAGE_EXTENSIONS.has(extname(name).toLowerCase()));
  if (names.length === 0) {
    throw new FileAccessError({
      path,
      operation: 'read frames from',
      reason: `it has no ${[...IMAGE_EXTENSIONS].join(', ')} file`,
    });
  }
  // The order must not depend on the language of the machine.
  const natural = new Intl.Collator('en', { numeric: true });
  return names.sort((a, b) => natural.compare(a, b) || (a < b ? -1 : 1));
}
