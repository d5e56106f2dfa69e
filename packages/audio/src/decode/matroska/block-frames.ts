import { variableNumber } from './ebml-reader.js';

const XIPH = 1;
const FIXED = 2;
const EBML = 3;

/** A block: frames of one track. */
export interface Block {
  readonly track: number;
  readonly frames: readonly Uint8Array[];
}

/** The frames of a block, which may be laced: several in one block; null if its sizes are wrong. */
export function parseBlock(content: Uint8Array): Block | null {
  const track = variableNumber(content, 0, false);
  if (track === null || track === 'invalid') return null;
  // Two bytes of time and one of flags follow.
  const flags = content[track.length + 2];
  if (flags === undefined) return null;
  const body = content.subarray(track.length + 3);
  const lacing = (flags >> 1) & 3;
  const frames = lacing === 0 ? [body] : lacedFrames(body, lacing);
  return frames && { track: track.value, frames };
}

/** Packets in the private data of Vorbis: the number of packets - 1, sizes as in a laced block, then the packets. */
export function xiphPackets(content: Uint8Array): readonly Uint8Array[] | null {
  return lacedFrames(content, XIPH);
}

function lacedFrames(body: Uint8Array, lacing: number): Uint8Array[] | null {
  if (body.length === 0) return null;
  const count = body[0]! + 1;
  const laced = { [XIPH]: xiphSizes, [FIXED]: fixedSizes, [EBML]: ebmlSizes }[lacing]!(body, count);
  if (laced === null) return null;
  const frames: Uint8Array[] = [];
  let at = laced.begin;
  for (const size of laced.sizes) {
    frames.push(body.subarray(at, at + size));
    at += size;
  }
  if (at > body.length) return null;
  frames.push(body.subarray(at));
  return frames;
}

/** Sizes of all frames but the last, and where the first begins. */
interface Laced {
  readonly sizes: readonly number[];
  readonly begin: number;
}

function xiphSizes(body: Uint8Array, count: number): Laced | null {
  const sizes: number[] = [];
  let at = 1;
  while (sizes.length < count - 1) {
    let size = 0;
    let byte = 255;
    while (byte === 255) {
      if (at >= body.length) return null;
      byte = body[at++]!;
      size += byte;
    }
    sizes.push(size);
  }
  return { sizes, begin: at };
}

function fixedSizes(body: Uint8Array, count: number): Laced | null {
  const size = (body.length - 1) / count;
  return Number.isInteger(size) ? { sizes: new Array(count - 1).fill(size), begin: 1 } : null;
}

/** The first size, then differences, which are stored with an offset. */
function ebmlSizes(body: Uint8Array, count: number): Laced | null {
  const sizes: number[] = [];
  let at = 1;
  while (sizes.length < count - 1) {
    const number = variableNumber(body, at, false);
    if (number === null || number === 'invalid') return null;
    at += number.length;
    const previous = sizes.at(-1);
    const size =
      previous === undefined ? number.value : previous + number.value - (2 ** (7 * number.length - 1) - 1);
    if (!(size >= 0 && size <= body.length)) return null;
    sizes.push(size);
  }
  return { sizes, begin: at };
}
