import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fixture as sound } from '../../../fixtures/locate.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { DEMO_MODEL, hasDemoModel, markbase, markbaseJson } from './run-markbase.js';

interface Transcript {
  text: string;
  segments: {
    startSeconds: number;
    endSeconds: number;
    text: string;
    softTokens: number;
    isComplete: boolean;
  }[];
  audioSeconds: number;
  realTimeFactor: number;
}

const RATE = 8000;

/** A tone that comes and goes, as 8-bit mono WAV. */
async function recording(seconds: number): Promise<string> {
  const path = join(temporaryFolder(), 'recording.wav');
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + seconds * RATE, 4);
  header.write('WAVEfmt ', 8);
  const words = [16, RATE, RATE, seconds * RATE];
  for (const [i, at] of [16, 24, 28, 40].entries()) header.writeUInt32LE(words[i]!, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 1],
    [34, 8],
  ] as const)
    header.writeUInt16LE(value, at);
  header.write('data', 36);
  const samples = Uint8Array.from({ length: seconds * RATE }, (_, i) => {
    const loudness = Math.sin((Math.PI * i) / (2 * RATE)) ** 2;
    return 128 + Math.round(60 * loudness * Math.sin(i / 3));
  });
  await writeFile(path, Buffer.concat([header, samples]));
  return path;
}

test('a model without an audio encoder is refused before anything runs', async () => {
  const folder = temporaryFolder();
  await markbaseJson(['synth', '--variant', '31b', '--tiny', '--out', folder]);
  expect(await markbase(['transcribe', sound('audio/mono.flac'), '--model', folder])).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('this checkpoint takes no sound'),
  });
});

describe.skipIf(!hasDemoModel)('with the demo model', () => {
  const model = ['--model', DEMO_MODEL, '--max-tokens', '12'];

  test('transcribes a recording, segment by segment with times', async () => {
    const file = await recording(7);
    const args = ['transcribe', file, ...model, '--max-seconds', '3'];
    const transcript = await markbaseJson<Transcript>(args);
    const { segments } = transcript;
    expect(segments.length).toBeGreaterThan(2);
    expect(segments[0]!.startSeconds).toBe(0);
    for (const [i, { endSeconds, startSeconds, softTokens }] of segments.entries()) {
      expect(startSeconds).toBe(segments[i - 1]?.endSeconds ?? 0);
      expect(endSeconds - startSeconds).toBeLessThanOrEqual(3);
      expect(softTokens).toBe(Math.ceil(Math.ceil((endSeconds - startSeconds) * 100 - 1) / 4));
    }
    expect(transcript.audioSeconds).toBe(7);
    expect(transcript.text).toBe(segments.map(({ text }) => text).join(' '));

    const { status, stdout, stderr } = await markbase(args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(segments.length);
    expect(lines[0]).toMatch(/^\[00:00\.0 - 00:0\d\.\d\] /);
    expect(lines[0]).toContain(segments[0]!.text);
  });

  test.each(['mono.mp3', 'mono.opus'])('reads %s', async (name) => {
    const args = ['transcribe', sound(`audio/${name}`), ...model];
    const { segments } = await markbaseJson<Transcript>(args);
    expect(segments).toHaveLength(1);
    expect(segments[0]!.softTokens).toBeGreaterThan(1);
  });

  test('generate accepts sound before the prompt', async () => {
    const base = ['generate', '--prompt', 'Transcribe the audio.', '--temperature', '0', ...model];
    const heard = await markbaseJson<{ usage: { promptTokens: number } }>([
      ...base,
      '--audio',
      sound('audio/mono.flac'),
    ]);
    const alone = await markbaseJson<{ usage: { promptTokens: number } }>(base);
    // Half a second: 13 soft tokens plus two delimiters.
    expect(heard.usage.promptTokens - alone.usage.promptTokens).toBe(15);
  });

  test('reports errors in a file', async () => {
    const path = join(temporaryFolder(), 'note.txt');
    await writeFile(path, 'This is a text, and no sound at all. '.repeat(20));
    const run = (file: string) => markbase(['transcribe', file, ...model]);
    expect(await run(path)).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(path) });
    expect(await run(join(path, 'missing.wav'))).toMatchObject({ status: 1, stdout: '' });
    const empty = join(temporaryFolder(), 'empty.wav');
    await writeFile(empty, '');
    expect(await run(empty)).toMatchObject({ status: 1, stderr: expect.stringContaining('it is empty') });
  });
});
