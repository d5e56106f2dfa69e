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

  it('takes frames evenly by time, not by number', async () => {
    // Twenty frames in the first second, twenty in the next three.
    const uneven = "settb=1/1000,setpts='if(lt(N,20),N*0.05,1+(N-20)*0.15)/TB'";
    const path = film(
      'uneven.mkv',
      '-vf',
      uneven,
      '-fps_mode',
      'passthrough',
      '-enc_time_base',
      '1:1000',
      '-c:v',
      'mpeg4',
      '-q:v',
      '2',
    );
    const frames = await brightness(path);
    // Containers round times, so that a neighbour may be taken.
    const byTime = [0, 10, 20, 23, 26, 30, 33, 36];
    expect(frames).toHaveLength(byTime.length);
    for (const [number, { index }] of frames.entries()) {
      expect(Math.abs(index - byTime[number]!)).toBeLessThanOrEqual(1);
    }
    for (const [number, { timestampSeconds }] of frames.entries()) {
      expect(Math.abs(timestampSeconds - number / 2)).toBeLessThanOrEqual(0.16);
    }
  });

  it('shows pixels that are not square in their shape', async () => {
    const wide = film('wide.mp4', '-c:v', 'mpeg4', '-aspect', '8:3');
    expect((await brightness(wide, 1))[0]!.size).toEqual([128, 48]);
    const narrow = film('narrow.mkv', '-c:v', 'mpeg4', '-aspect', '2:3');
    expect((await brightness(narrow, 1))[0]!.size).toEqual([32, 48]);
  });

  it('says in its own words that a file has no moving pictures', async () => {
    const path = join(folder, 'sound.mp4');
    const made = spawnSync('ffmpeg', [
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      'sine=duration=1',
      '-c:a',
      'aac',
      path,
    ]);
    expect(made.status).toBe(0);
    await expect(brightness(path)).rejects.toMatchObject({
      code: 'UNSUPPORTED_MEDIA',
      message: `${path}: unsupported video: it has no moving pictures`,
    });
  });

  it.each([
    ['mp4', ['-c:v', 'mpeg4']],
    ['mp4', ['-c:v', 'mpeg4', '-movflags', '+faststart']],
    ['webm', ['-c:v', 'libvpx']],
    ['mkv', ['-c:v', 'mpeg4']],
    ['ts', ['-c:v', 'mpeg2video', '-r', '25']],
  ])('refuses a truncated file: .%s %j', async (extension, options) => {
    const path = join(folder, `half.${extension}`);
    const whole = await readFile(film(`whole-${options.length}.${extension}`, ...options));
    await writeFile(path, whole.subarray(0, Math.floor(whole.length * 0.6) + 1));
    await expect(brightness(path)).rejects.toMatchObject({
      rule: 'UndecodableVideo',
      path,
      reason: expect.stringMatching(/^the file is incomplete.*get the whole one$/),
    });
  });

  it('refuses text', async () => {
    await expect(brightness(Buffer.from('just text'))).rejects.toMatchObject({ rule: 'UndecodableVideo' });
  });
});
