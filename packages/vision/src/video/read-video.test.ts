import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { readVideo, type VideoInput, type VideoOptions, videoFrames } from './read-video.js';

const LAYOUT = { patchEdge: 16, blockEdge: 3 };

let folder: string;

beforeAll(() => {
  folder = temporaryFolder();
});
/** Number of a frame, its time, and the first value of its picture, which the tests set to ten times the number. */
async function framesOf(input: VideoInput, options: Omit<VideoOptions, 'layout'> = {}) {
  const made: [number, number, number][] = [];
  for await (const { index, timestampSeconds, image } of videoFrames(input, options)) {
    made.push([index, timestampSeconds, image.data[0]!]);
  }
  return made;
}

function grey(value: number, width = 16, height = 8) {
  const background = { r: value, g: value, b: value };
  return sharp({ create: { width, height, channels: 3, background } });
}

/** A GIF or WebP of uniform frames with the values 0, 10, 20, … */
function animation(format: 'gif' | 'webp', delay: number[], [width, height] = [16, 8]): Promise<Buffer> {
  const frameBytes = width! * height! * 3;
  const data = Uint8Array.from(
    { length: delay.length * frameBytes },
    (_, index) => Math.floor(index / frameBytes) * 10,
  );
  const raw = { width: width!, height: height! * delay.length, channels: 3, pageHeight: height! } as const;
  return sharp(data, { raw }).toFormat(format, { delay, lossless: true, loop: 0 }).toBuffer();
}

describe('a folder', () => {
  async function folderOf(name: string, files: Record<string, Buffer | string>): Promise<string> {
    const path = join(folder, name);
    await mkdir(path);
    for (const [file, content] of Object.entries(files)) await writeFile(join(path, file), content);
    return path;
  }

  it('returns its pictures in natural order, 24 per second', async () => {
    const files: Record<string, Buffer | string> = { 'notes.txt': 'no picture', '.hidden.png': 'neither' };
    for (let frame = 0; frame < 12; frame++) {
      files[`frame${frame}.${frame % 2 ? 'png' : 'WEBP'}`] = await grey(frame * 10)
        .toFormat(frame % 2 ? 'png' : 'webp', { lossless: true })
        .toBuffer();
    }
    const path = await folderOf('ordered', files);
    const all = await framesOf(path);
    expect(all.map(([index, , value]) => [index, value])).toEqual(
      Array.from({ length: 12 }, (_, index) => [index, index * 10]),
    );
    expect(all[6]![1]).toBe(6 / 24);
    expect(await framesOf(path, { maxFrames: 3, framesPerSecond: 2 })).toEqual([
      [0, 0, 0],
      [4, 2, 40],
      [8, 4, 80],
    ]);
  });

  it('without pictures is an error, and so is a broken picture', async () => {
    await expect(framesOf(await folderOf('empty', { 'a.txt': 'x' }))).rejects.toMatchObject({
      code: 'FILE_ACCESS',
      operation: 'read frames from',
    });
    await expect(framesOf(await folderOf('broken', { 'a.png': 'x' }))).rejects.toMatchObject({
      code: 'CORRUPT_FILE',
      rule: 'UnknownImageFormat',
    });
  });
});

describe('an animation', () => {
  it.each(['gif', 'webp'] as const)('%s returns frames with the times of the file', async (format) => {
    const bytes = await animation(format, [100, 200, 300, 50, 100]);
    const expected = [
      [0, 0, 0],
      [1, 0.1, 10],
      [2, 0.3, 20],
      [3, 0.6, 30],
      [4, 0.65, 40],
    ];
    expect(await framesOf(bytes)).toEqual(expected);
    const path = join(folder, `animation.${format}`);
    await writeFile(path, bytes);
    expect(await framesOf(path, { maxFrames: 2 })).toEqual([expected[0], expected[2]]);
    expect(await framesOf(path, { maxFrames: 2, framesPerSecond: 4 })).toEqual([
      [0, 0, 0],
      [2, 0.5, 20],
    ]);
  });

  it('returns 32 frames of a longer one', async () => {
    const frames = await framesOf(await animation('webp', new Array(25 * 2).fill(40)));
    expect(frames).toHaveLength(32);
    expect(frames.at(-1)![0]).toBe(Math.floor(31 * (50 / 32)));
  });

  it('returns no more frames than there is room for, and is refused if there is none', async () => {
    const bytes = await animation('gif', Array(40).fill(100));
    const framesFor = async (maxTokens: number, maxFrames?: number) =>
      (await readVideo(bytes, { layout: LAYOUT, maxTokens, ...(maxFrames && { maxFrames }) })).map(
        ({ index }) => index,
      );
    // Each frame reserves 70 soft tokens, and 10 for delimiters and the time.
    expect(await framesFor(4 * 80)).toEqual([0, 10, 20, 30]);
    expect(await framesFor(5 * 80 - 1)).toEqual([0, 10, 20, 30]);
    expect(await framesFor(1e6)).toHaveLength(32);
    expect(await framesFor(1e6, 40)).toHaveLength(40);
    expect(await framesFor(80)).toEqual([0]);
    await expect(framesFor(79)).rejects.toMatchObject({
      code: 'CONTEXT_LENGTH',
      promptTokens: 80,
      maxTokens: 79,
    });
  });

  it('is decoded in several runs if it is large', async () => {
    const bytes = await animation('webp', new Array(12).fill(100), [64, 64]);
    const limits = { maxPixels: 64 * 64 * 3 };
    const inRuns = await framesOf(bytes, { limits });
    expect(inRuns).toEqual(await framesOf(bytes));
    expect(inRuns.map(([, , value]) => value / 10)).toEqual(inRuns.map(([index]) => index));
    await expect(framesOf(bytes, { limits: { maxPixels: 64 * 63 } })).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      limit: 'maxPixels',
    });
  });

  it('may be a still picture', async () => {
    expect(await framesOf(await grey(70).png().toBuffer())).toEqual([[0, 0, 70]]);
  });
});

describe('readVideo', () => {
  it('prepares each frame as a picture with a budget of 70', async () => {
    const bytes = await animation('gif', [100, 100, 100], [64, 48]);
    const frames = await readVideo(bytes, { layout: LAYOUT });
    expect(frames.map(({ image }) => [image.width, image.height, image.patches.softTokens])).toEqual(
      new Array(3).fill([432, 336, 63]),
    );
    expect(frames.map(({ image }) => image.patches.pixels[0])).toEqual([0, 10, 20]);
    expect(new Set(frames.map(({ image }) => image.contentKey)).size).toBe(3);
    const [larger] = await readVideo(bytes, { layout: LAYOUT, budget: 140, maxFrames: 1 });
    expect(larger!.image.patches.softTokens).toBe(130);
  });

  it.each([
    [{ budget: 71 }, 'budget'],
    [{ maxFrames: 0 }, 'maxFrames'],
    [{ framesPerSecond: 0 }, 'framesPerSecond'],
  ])('refuses %o', async (options, argument) => {
    const bytes = await animation('gif', [100, 100]);
    await expect(readVideo(bytes, { layout: LAYOUT, ...options })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument,
    });
  });

  it('refuses missing files, remote addresses, and empty input', async () => {
    await expect(framesOf(join(folder, 'missing.mp4'))).rejects.toMatchObject({ code: 'FILE_ACCESS' });
    await expect(framesOf('https://example.com/a.mp4')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(framesOf(new Uint8Array(0))).rejects.toMatchObject({ rule: 'EmptyImage' });
    await writeFile(join(folder, 'empty.mp4'), '');
    await expect(framesOf(join(folder, 'empty.mp4'))).rejects.toMatchObject({ rule: 'EmptyImage' });
  });

  it('stops on its signal', async () => {
    const stop = new AbortController();
    const reason = new RangeError('enough');
    const seen: number[] = [];
    const walk = async () => {
      const bytes = await animation('gif', [100, 100, 100]);
      for await (const { index } of videoFrames(bytes, { signal: stop.signal })) {
        seen.push(index);
        stop.abort(reason);
      }
    };
    await expect(walk()).rejects.toBe(reason);
    expect(seen).toEqual([0]);
  });
});

// Windows does not run scripts by their first line.
describe.skipIf(process.platform === 'win32')('a container, with another program instead of ffmpeg', () => {
  /** A script that answers both passes; `body` sees `args` and `write`. */
  async function program(name: string, body: string): Promise<string> {
    const path = join(folder, name);
    const head = `#!${process.execPath}\nconst args = process.argv.slice(2);\nconst write = (data) => process.stdout.write(data);\n`;
    await writeFile(path, head + body);
    await chmod(path, 0o755);
    return path;
  }

  const PACKETS = `
    if (args.includes('framecrc')) {
      write('#software: test\\n#tb 0: 1/10\\n');
      for (const time of [5, 8, 6, 7, 9]) write('0, 0, ' + time + ', 1, 10, 0x0\\n');
      process.exit(0);
    }`;
  const PICTURES = `
    const wanted = [...args.join(' ').matchAll(/eq\\(n\\\\,(\\d+)\\)/g)].map((match) => Number(match[1]));
    const picture = (index) => Buffer.concat([Buffer.from('P6\\n3 2\\n255\\n'), Buffer.alloc(18, index * 10)]);
    const all = Buffer.concat(wanted.map(picture));
    for (let at = 0; at < all.length; at += 7) write(all.subarray(at, at + 7));`;
  const video = Buffer.from('\0\0\0\x18ftypmp42 not really');

  it('returns frames in the order of their times', async () => {
    const ffmpeg = await program('good', PACKETS + PICTURES);
    expect(await framesOf(video, { ffmpeg, maxFrames: 2 })).toEqual([
      [0, 0, 0],
      [2, 0.2, 20],
    ]);
    expect((await framesOf(video, { ffmpeg, framesPerSecond: 2 })).at(-1)).toEqual([4, 2, 40]);
  });

  it('leaves nothing in the folder for temporary files', async () => {
    const temporary = join(folder, 'temporary');
    await mkdir(temporary);
    vi.stubEnv('TMPDIR', temporary);
    try {
      const ffmpeg = await program('tidy', PACKETS + PICTURES);
      for await (const _ of videoFrames(video, { ffmpeg })) {
        expect(await readdir(temporary)).toHaveLength(1);
        break;
      }
      const broken = await program('untidy', 'process.exit(1)');
      await expect(framesOf(video, { ffmpeg: broken })).rejects.toMatchObject({ code: 'CORRUPT_FILE' });
      expect(await readdir(temporary)).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('reports that the program is missing', async () => {
    await expect(framesOf(video, { ffmpeg: join(folder, 'absent') })).rejects.toMatchObject({
      code: 'FILE_ACCESS',
      operation: 'run',
      path: join(folder, 'absent'),
      message: expect.stringMatching(/not installed/),
    });
  });

  it.each([
    ['fails', 'console.error("first\\nno such codec"); process.exit(3)', /no such codec/],
    ['fails in silence', 'process.exit(3)', /exit code 3/],
    ['finds no frames', 'write("#tb 0: 1/10\\n")', /no video frames/],
    ['writes something else', `${PACKETS} write("x".repeat(500))`, /something other than PPM/],
    ['stops within a frame', `${PACKETS} write("P6\\n30 20\\n255\\nxx")`, /within a frame/],
    ['decodes nothing', PACKETS, /no frame was decoded/],
  ])('explains a program that %s', async (name, body, reason) => {
    const ffmpeg = await program(name.replaceAll(' ', '-'), body);
    await expect(framesOf(video, { ffmpeg })).rejects.toMatchObject({
      code: 'CORRUPT_FILE',
      rule: 'UndecodableVideo',
      message: expect.stringMatching(reason),
    });
  });

  it('refuses frames beyond the limit', async () => {
    const ffmpeg = await program('large', `${PACKETS} write("P6\\n100000 100000\\n255\\n")`);
    await expect(framesOf(video, { ffmpeg })).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  });

  it('ends the program when it is no longer needed', async () => {
    const endless = `${PACKETS} setInterval(() => {}, 1000); write("P6\\n1 1\\n255\\nabc");`;
    const ffmpeg = await program('endless', endless);
    for await (const { index } of videoFrames(video, { ffmpeg })) {
      expect(index).toBe(0);
      break;
    }
    const stop = new AbortController();
    const reason = new RangeError('enough');
    const walk = async () => {
      for await (const _ of videoFrames(video, { ffmpeg, signal: stop.signal })) {
        setImmediate(() => stop.abort(reason));
      }
    };
    await expect(walk()).rejects.toBe(reason);
  });
});
