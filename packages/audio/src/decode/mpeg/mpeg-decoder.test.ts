import { describe, expect, it, vi } from 'vitest';
import { decodeAll } from '../../../test/collect.js';
import { soundFile } from '../../../test/sound-files.js';

vi.mock('mpg123-decoder', () => {
  throw new DOMException('Cannot find package', 'NotFoundError');
});

describe('MpegDecoder', () => {
  it('names the optional package if it is not installed', async () => {
    await expect(decodeAll(soundFile('mono.mp3'))).rejects.toMatchObject({
      code: 'UNSUPPORTED_MEDIA',
      reason: 'MP3 needs the optional package mpg123-decoder: npm install mpg123-decoder',
    });
    expect((await decodeAll(soundFile('mono.ogg'))).channels).toHaveLength(1);
  });
});
