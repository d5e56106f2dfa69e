import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { silentWav } from '../../../fixtures/silent-wav.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { DEMO_MODEL, hasDemoModel, markbase } from './run-markbase.js';
import { serve } from './start-server.js';

/** A PNG with one pixel. */
const DOT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

/** The same file with a header that states another size. */
function png(width: number, height: number): Buffer {
  const bytes = Buffer.from(DOT);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  bytes.writeUInt32BE(crc32(bytes.subarray(12, 29)), 29);
  return bytes;
}

/** Frames of `flac`, of 65,535 samples in 13 bytes each. */
const FRAMES = 230;
/** The header of a FLAC file with an unknown length at 1,163 Hz, and a frame of one value. */
const [FLAC_HEADER, FLAC_FRAME] = [
  '664c614380000022ffffffff0000000000000048b0f00000000000000000000000000000000000000000',
  'fff8700000fffe8900100026d4',
].map((hex) => Buffer.from(hex, 'hex'));

/** 3 KB that are 3.6 hours of one tone. @param stated number of samples that the header states; 0 = unknown */
function flac(stated: number): Buffer {
  const header = Buffer.from(FLAC_HEADER!);
  header.writeUInt32BE(stated, 22);
  return Buffer.concat([header, ...Array<Buffer>(FRAMES).fill(FLAC_FRAME!)]);
}

/** 41 minutes of silence: 8 kHz, one byte per sample. */
const wav = () => silentWav(41 * 60 * 8000, { sampleRate: 8000, bytesPerSample: 1 });

const MEDIA: readonly (readonly [
  kind: 'image' | 'audio',
  name: string,
  bytes: () => Buffer,
  message: RegExp,
])[] = [
  [
    'image',
    'wide.png',
    () => png(65_536, 1),
    /maxSidePixels is 65535, but this is 65536: make the input smaller/,
  ],
  ['image', 'large.png', () => png(60_000, 60_000), /maxPixels is 100000000, but this is 3600000000: make/],
  [
    'audio',
    'stated.flac',
    () => flac(FRAMES * 65_535),
    /the sound of 12960\.5 s has at least 324012 tokens, but there is room for 2048 \(81\.9 s of sound\)/,
  ],
  [
    'audio',
    'lying.flac',
    () => flac(0),
    /the sound of 112\.7 s has at least 2817 tokens, but there is room for 2048 \(81\.9 s of sound\)/,
  ],
  [
    'audio',
    'long.wav',
    wav,
    /the sound of 2460\.0 s has at least 61500 tokens, but there is room for 2048 \(81\.9 s of sound\)/,
  ],
];

describe.skipIf(!hasDemoModel)('media beyond a limit', () => {
  it('are refused by the server and by the command line with the same message', async () => {
    const { url } = await serve(['--model', DEMO_MODEL, '--name', 'demo']);
    const folder = temporaryFolder();
    for (const [kind, name, bytesOf, message] of MEDIA) {
      const bytes = bytesOf();
      const data = bytes.toString('base64');
      const part =
        kind === 'image'
          ? { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }
          : { type: 'input_audio', input_audio: { data, format: name.split('.')[1] } };
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: [part] }] }),
      });
      const { error } = (await answer.json()) as { error: { message: string; param: string; code: string } };
      expect([name, answer.status, error.message]).toEqual([name, 400, expect.stringMatching(message)]);
      expect(error.code).toBe(kind === 'image' ? 'invalid_media' : 'context_length_exceeded');
      expect(error.param).toMatch(/^messages\[0\]\.content\[0\]/);

      const file = join(folder, name);
      await writeFile(file, bytes);
      const outcome = await markbase([
        'generate',
        '--model',
        DEMO_MODEL,
        '--prompt',
        'What?',
        `--${kind}`,
        file,
      ]);
      expect([name, outcome.status]).toEqual([name, 1]);
      expect(outcome.stderr).toMatch(message);
    }
  });

  it('are refused as recordings of more than eight hours', async () => {
    const { url } = await serve(['--model', DEMO_MODEL, '--name', 'demo']);
    const body = new FormData();
    body.append('model', 'demo');
    body.append('file', new Blob([new Uint8Array(flac(9 * 3600 * 1163))]), 'long.flac');
    const answer = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      {
        error: {
          param: 'file',
          message: expect.stringContaining('maxTotalSeconds is 28800, but this is 32400'),
        },
      },
    ]);
  });
});
