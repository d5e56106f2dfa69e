import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../../../fixtures/temporary-folder.js';
import { decodeAll, inPieces } from '../../../test/collect.js';
import { detectFormat } from '../detect-format.js';

const hasFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0;
const TONE = 'aevalsrc=0.3*sin(2000*t)|0.2*sin(3000*t):s=44100:d=0.5';

describe('without ffmpeg', () => {
  it.each([
    ['MP4', '\0\0\0\x0cftypM4A ', 'MP4, M4A or QuickTime'],
    ['QuickTime', '\0\0\0\x08wide\0\0', 'MP4, M4A or QuickTime'],
    ['AAC', '\xff\xf1\x50\x80\0\x1f\xfc', 'AAC'],
    ['AMR', '#!AMR\n', 'AMR'],
    ['AVI', 'RIFF\0\0\0\0AVI LIST', 'AVI'],
    ['a transport stream', `${'G'.padEnd(188, '\0').repeat(3)}`, 'an MPEG transport stream'],
  ])('%s is named, with what to do', async (_, head, name) => {
    const bytes = Buffer.from(head, 'latin1');
    expect(detectFormat(bytes)).toEqual({ foreign: name });
    await expect(decodeAll(bytes, { ffmpeg: '/nowhere/ffmpeg' })).rejects.toMatchObject({
      code: 'UNSUPPORTED_MEDIA',
      reason: expect.stringContaining(
        `${name} is decoded by ffmpeg, which is not installed: install it, or use WAV`,
      ),
    });
    await expect(decodeAll(bytes, { ffmpeg: false })).rejects.toMatchObject({
      code: 'UNSUPPORTED_MEDIA',
      reason: expect.stringContaining(`${name} is not decoded without ffmpeg; use WAV`),
    });
  });
});

describe.skipIf(!hasFfmpeg)('with ffmpeg', () => {
  let folder: string;
  beforeAll(() => {
    folder = temporaryFolder();
  });

  function make(name: string, ...options: string[]): string {
    const path = join(folder, name);
    const made = spawnSync('ffmpeg', ['-v', 'error', '-y', '-f', 'lavfi', '-i', TONE, ...options, path]);
    expect(made.stderr.toString()).toBe('');
    return path;
  }

  /** The samples that ffmpeg gives. */
  function reference(path: string): Float32Array {
    const args = ['-v', 'error', '-i', path, '-f', 'f32le', '-c:a', 'pcm_f32le', 'pipe:1'];
    const { stdout } = spawnSync('ffmpeg', args, { maxBuffer: 2 ** 26 });
    return new Float32Array(Uint8Array.from(stdout).buffer);
  }

  it.each([
    ['phone.m4a', []],
    ['lossless.m4a', ['-c:a', 'alac']],
    ['fragments.mp4', ['-movflags', '+frag_keyframe+empty_moov']],
    ['stream.aac', []],
    ['apple.caf', ['-c:a', 'alac']],
    ['adpcm.wav', ['-c:a', 'adpcm_ms']],
    ['studio.mka', ['-c:a', 'ac3']],
    ['recorder.webm', ['-c:a', 'libopus', '-live', '1']],
    ['padded.webm', ['-c:a', 'libopus']],
    ['empty-last-packet.oga', ['-c:a', 'flac']],
  ])('reads %s: length within one sample, at least 46 dB', async (name, options) => {
    const path = make(name, ...options);
    const { channels } = await decodeAll(path);
    const expected = reference(path);
    expect(Math.abs(channels[0]!.length - expected.length / 2)).toBeLessThanOrEqual(1);
    let [signal, noise] = [0, 0];
    for (let index = 0; index < Math.min(channels[0]!.length, expected.length / 2); index += 1) {
      for (const [channel, samples] of channels.entries()) {
        signal += expected[2 * index + channel]! ** 2;
        noise += (expected[2 * index + channel]! - samples[index]!) ** 2;
      }
    }
    expect(10 * Math.log10(signal / Math.max(noise, 1e-12))).toBeGreaterThanOrEqual(46);
  });

  it('reads bytes and streams, and leaves no file', async () => {
    const path = make('bytes.m4a');
    const expected = await decodeAll(path);
    const temporary = join(folder, 'temporary');
    mkdirSync(temporary);
    vi.stubEnv('TMPDIR', temporary);
    try {
      const bytes = readFileSync(path);
      for (const source of [bytes, inPieces(bytes, 700), new Blob([bytes])]) {
        expect(await decodeAll(source)).toEqual(expected);
      }
      await expect(decodeAll(bytes.subarray(0, 3000))).rejects.toMatchObject({ code: 'CORRUPT_FILE' });
      expect(readdirSync(temporary)).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('reports a truncated file, and reads it as far as it goes if that is accepted', async () => {
    const bytes = readFileSync(make('fast.m4a', '-movflags', '+faststart'));
    const path = join(folder, 'half.m4a');
    writeFileSync(path, bytes.subarray(0, bytes.length * 0.7));
    await expect(decodeAll(path)).rejects.toMatchObject({ rule: 'TruncatedAudio', path });
    const half = (await decodeAll(path, { truncated: 'accept' })).channels[0]!.length;
    expect(half).toBeGreaterThan(4000);
    expect(half).toBeLessThan(20_000);
  });

  it('refuses a file without sound, a playlist, and a sound that is too long', async () => {
    const silent = join(folder, 'silent.mp4');
    const picture = ['-f', 'lavfi', '-i', 'color=red:size=16x16:rate=5:duration=1', '-c:v', 'mpeg4'];
    expect(spawnSync('ffmpeg', ['-v', 'error', '-y', ...picture, silent]).status).toBe(0);
    await expect(decodeAll(silent)).rejects.toMatchObject({
      code: 'UNSUPPORTED_MEDIA',
      reason: 'it has no sound',
    });
    const path = make('long.m4a');
    await expect(decodeAll(path, { maxTotalSeconds: 0.2 })).rejects.toMatchObject({
      limit: 'maxTotalSeconds',
    });
    const list = join(folder, 'list.aac');
    writeFileSync(list, '#EXTM3U\n#EXTINF:4,\nphone.m4a\n#EXT-X-ENDLIST\n');
    await expect(decodeAll(list)).rejects.toMatchObject({ code: 'UNSUPPORTED_MEDIA' });
  });
});
