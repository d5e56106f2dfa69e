import { CorruptFileError } from '@markbase/core';

/**
 * When each frame of a video is shown, from what ffmpeg's `framecrc` format says about its packets without decoding them:
 *
 * ```
 * #tb 0: 1/12800
 * 0,       -512,          0,      512,     1234, 0x5f4d2a01
 * ```
 *
 * The columns are stream, decoding time, presentation time, duration, size and checksum, in units of the time base.
 *
 * @returns seconds from the first frame on, rising: one entry per frame
 * @throws CorruptFileError when there is no frame
 */
export async function packetTimes(chunks: AsyncIterable<Uint8Array>, subject: string): Promise<number[]> {
  let secondsPerUnit = Number.NaN;
  const times: number[] = [];
  for await (const line of lines(chunks)) {
    const timeBase = /^#tb \d+: (\d+)\/(\d+)/.exec(line);
    if (timeBase) secondsPerUnit = Number(timeBase[1]) / Number(timeBase[2]);
    else if (/^\d/.test(line)) times.push(Number(line.split(',')[2]));
  }
  if (times.length === 0 || !times.every(Number.isFinite) || !(secondsPerUnit > 0)) {
    throw new CorruptFileError({ rule: 'UndecodableVideo', path: subject, reason: 'it has no video frames' });
  }
  // Packets come in the order of decoding.
  const sorted = Float64Array.from(times).sort();
  return Array.from(sorted, (time) => (time - sorted[0]!) * secondsPerUnit);
}

async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop()!;
    yield* parts;
  }
  if (rest !== '') yield rest;
}
