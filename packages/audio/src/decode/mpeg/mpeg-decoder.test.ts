import { describe, expect, it, vi } from 'vitest';
import { decodeAll } from '../../../test/collect.js';
import { soundFile } from '../../../test/sound-files.js';

vi.mock('mpg123-decoder', () => {
  throw new DOMException('Cannot find package', 'NotFoundError');
});

describe('MpegDecoder', () => {
  it('names the package if neither it nor ffmpeg is installed', async () => {
    const absent = decodeAll(soundFile('mono.mp3'), { ffmpeg: '/nowhere/ffmpeg' });
    await expect(absent).rejects.toMatchObject({
      code: 'UNSUPPORTED_MEDIA',
      reason: expect.stringMatching(
        /^MP3 without the package mpg123-decoder is decoded by ffmpeg, which is not installed/,
      ),
    });
    expect((await decodeAll(soundFile('mono.ogg'))).channels).toHaveLength(1);
  });
});
