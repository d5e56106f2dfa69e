/** Sample rate of the model's audio input. */
export const SAMPLE_RATE_HZ = 16_000;

const HEADER_BYTES = 44;

/**
 * A WAV file with one channel of 16 bits at 16 kHz.
 *
 * @param samples -1 to 1; values outside are clipped
 */
export function encodeWav(samples: Float32Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + samples.length * 2);
  const view = new DataView(bytes.buffer);
  const text = (offset: number, value: string) => {
    for (let index = 0; index < value.length; index++) view.setUint8(offset + index, value.charCodeAt(index));
  };
  text(0, 'RIFF');
  view.setUint32(4, bytes.length - 8, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, SAMPLE_RATE_HZ, true);
  view.setUint32(28, SAMPLE_RATE_HZ * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, samples.length * 2, true);
  for (const [index, sample] of samples.entries()) {
    const clipped = Math.max(-1, Math.min(1, sample));
    view.setInt16(HEADER_BYTES + index * 2, Math.round(clipped * 32767), true);
  }
  return bytes;
}

/** Peak magnitudes of `count` equal pieces, 0 to 1. */
export function peaksOf(samples: Float32Array, count: number): number[] {
  return Array.from({ length: count }, (_, index) => {
    const begin = Math.floor((index * samples.length) / count);
    const end = Math.floor(((index + 1) * samples.length) / count);
    let peak = 0;
    for (let position = begin; position < end; position++)
      peak = Math.max(peak, Math.abs(samples[position]!));
    return Math.min(1, Math.round(peak * 1000) / 1000);
  });
}
