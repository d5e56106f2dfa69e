import { CorruptFileError } from '@markbase/core';

/** The times of a video's frames. */
export interface PacketTimes {
  readonly startSeconds: readonly number[];
  readonly durationSeconds: number;
  /** Name of the codec in ffmpeg; empty if it does not say. */
  readonly codec: string;
}

/**
 * When each frame of a video is shown, from what ffmpeg's `framecrc` format says about its packets without decoding them:
 *
 * ```
 * #tb 0: 1/12800
 * #codec_id 0: h264
 * 0,       -512,          0,      512,     1234, 0x5f4d2a01
 * ```
 *
 * The columns are stream, decoding time, presentation time, duration, size and checksum, in units of the time base.
 *
 * @returns starts in seconds from the first frame on, rising, one per frame; and when the last frame ends
 * @throws CorruptFileError when there is no frame
 */
export async function packetTimes(chunks: AsyncIterable<Uint8Array>, subject: string): Promise<PacketTimes> {
  let secondsPerUnit = Number.NaN;
  const [decodingTimes, presentationTimes]: [number[], number[]] = [[], []];
  let lastDuration = 0;
  let codec = '';
  for await (const line of lines(chunks)) {
    codec = /^#codec_id \d+: (\w+)/.exec(line)?.[1] ?? codec;
    const timeBase = /^#tb \d+: (\d+)\/(\d+)/.exec(line);
    if (timeBase) secondsPerUnit = Number(timeBase[1]) / Number(timeBase[2]);
    else if (/^\d/.test(line)) {
      const [, decoding, presentation, duration] = line.split(',').map(Number);
      decodingTimes.push(decoding!);
      presentationTimes.push(presentation!);
      lastDuration = duration!;
    }
  }
  // An MPEG program stream states presentation times for some packets only; the others are evenly spaced in the order of decoding.
  const times = presentationTimes.some((time) => time <= NO_TIME) ? decodingTimes : presentationTimes;
  if (times.length === 0 || !times.every(Number.isFinite) || !(secondsPerUnit > 0)) {
    throw new CorruptFileError({ rule: 'UndecodableVideo', path: subject, reason: 'it has no video frames' });
  }
  // Packets come in the order of decoding.
  const sorted = Float64Array.from(times).sort();
  const startSeconds = Array.from(sorted, (time) => (time - sorted[0]!) * secondsPerUnit);
  const last = startSeconds.at(-1)!;
  // Some containers do not say how long a frame is shown: as long as the others on average.
  const usual = startSeconds.length > 1 ? last / (startSeconds.length - 1) : 1;
  return {
    startSeconds,
    codec,
    durationSeconds: last + (lastDuration > 0 ? lastDuration * secondsPerUnit : usual),
  };
}

/** What ffmpeg prints for a time that is not known: -2^63. */
const NO_TIME = -(2 ** 63);

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
