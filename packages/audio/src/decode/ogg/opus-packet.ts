/** Longest frame in bytes. */
const MAX_FRAME_BYTES = 1_275;
/** Longest packet: 120 ms. */
const MAX_PACKET_SAMPLES = 5_760;

/** True if the framing of an Opus packet of one stream follows RFC 6716, section 3. */
export function isOpusPacket(packet: Uint8Array): boolean {
  const head = packet[0];
  if (head === undefined) return false;
  const rest = packet.subarray(1);
  switch (head & 3) {
    case 0:
      return rest.length <= MAX_FRAME_BYTES;
    case 1:
      return rest.length % 2 === 0 && rest.length / 2 <= MAX_FRAME_BYTES;
    case 2: {
      const [size, used] = frameLength(rest, 0);
      return used > 0 && size + used <= rest.length && rest.length - size - used <= MAX_FRAME_BYTES;
    }
    default:
      return isManyFrames(rest, frameSamples(head >> 3));
  }
}

function isManyFrames(rest: Uint8Array, samples: number): boolean {
  const head = rest[0];
  if (head === undefined) return false;
  const count = head & 63;
  if (count === 0 || count * samples > MAX_PACKET_SAMPLES) return false;
  let at = 1;
  let left = rest.length - 1;
  if (head & 64) {
    for (let byte = 255; byte === 255; at += 1) {
      byte = rest[at] ?? 0;
      left -= 1 + (byte === 255 ? 254 : byte);
      if (left < 0) return false;
    }
  }
  if ((head & 128) === 0) return left % count === 0 && left / count <= MAX_FRAME_BYTES;
  for (let frame = 1; frame < count; frame += 1) {
    const [size, used] = frameLength(rest, at);
    left -= size + used;
    at += used;
    if (used === 0 || left < 0) return false;
  }
  return left <= MAX_FRAME_BYTES;
}

/** A length stored in one or two bytes, and that number of bytes; 0 bytes if it is missing. */
function frameLength(bytes: Uint8Array, at: number): [size: number, used: number] {
  const first = bytes[at];
  if (first === undefined) return [0, 0];
  if (first < 252) return [first, 1];
  const second = bytes[at + 1];
  return second === undefined ? [0, 0] : [first + 4 * second, 2];
}

/** Samples of a frame at 48 kHz, by the configuration in the head of a packet. */
function frameSamples(configuration: number): number {
  if (configuration < 12) return [480, 960, 1_920, 2_880][configuration % 4]!;
  if (configuration < 16) return [480, 960][configuration % 2]!;
  return [120, 240, 480, 960][configuration % 4]!;
}
