import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { videoFrames } from './read-video.js';

const hasFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0;

// Needs the real program; the tests of read-video replace it by another one.
describe.skipIf(!hasFfmpeg)('videoFrames with ffmpeg', () => {
  let folder: string;

  beforeAll(() => {
    folder = temporaryFolder();
  });
  /** 40 frames, ten per second; each is brighter than the previous one by six. */
  function film(name: string, ...options: string[]): string {
    const path = join(folder, name);
    const source = "color=black:size=64x48:rate=10:duration=4,format=rgb24,geq=r='N*6':g='N*6':b='N*6'";
    const made = spawnSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, ...options, path]);
    expect(made.stderr.toString()).toBe('');
    return path;
  }

  async function brightness(input: string | Uint8Array, maxFrames = 8) {
    const frames = [];
    for await (const { index, timestampSeconds, image } of videoFrames(input, { maxFrames })) {
      frames.push({ index, timestampSeconds, size: [image.width, image.height], value: image.data[0]! });
    }
    return frames;
  }

  it.each([
    ['film.avi', ['-c:v', 'mjpeg', '-q:v', '2', '-pix_fmt', 'yuvj420p']],
    ['film.mkv', ['-c:v', 'mpeg4', '-bf', '2', '-q:v', '2']],
    ['film.mp4', ['-c:v', 'mpeg4', '-bf', '2', '-q:v', '2']],
  ])('%s: the requested frames, with their times', async (name, options) => {
    const path = film(name, ...options);
    const frames = await brightness(path);
    expect(frames.map(({ index }) => index)).toEqual([0, 5, 10, 15, 20, 25, 30, 35]);
    for (const { index, timestampSeconds, size, value } of frames) {
      expect(size).toEqual([64, 48]);
      expect(timestampSeconds).toBeCloseTo(index / 10, 2);
      expect(Math.abs(value - index * 6)).toBeLessThanOrEqual(4);
    }
    expect(await brightness(await readFile(path))).toEqual(frames);
  });

  it('refuses a playlist that names another file', async () => {
    const path = join(folder, 'list.m3u8');
    await writeFile(path, `#EXTM3U\n#EXTINF:4,\n${film('named.ts', '-c:v', 'mpeg2video')}\n#EXT-X-ENDLIST\n`);
    await expect(brightness(path)).rejects.toMatchObject({ rule: 'UndecodableVideo' });
  });

  it('refuses a truncated file and text', async () => {
    const path = join(folder, 'half.mp4');
    const whole = await readFile(film('whole.mp4', '-c:v', 'mpeg4'));
    await writeFile(path, whole.subarray(0, whole.length / 2));
    await expect(brightness(path)).rejects.toMatchObject({ rule: 'UndecodableVideo', path });
    await expect(brightness(Buffer.from('just text'))).rejects.toMatchObject({ rule: 'UndecodableVideo' });
  });
});
