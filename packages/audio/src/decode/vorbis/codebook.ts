import { bitLength, type VorbisBits } from './vorbis-bits.js';

const SYNC = 0x564342;
const MAX_LENGTH = 32;
/** Codes up to this length are decoded in one step. */
const FAST_BITS = 10;
const UNUSED = 0;

/**
 * What the codebooks of a stream may still define. A few bytes can define a codebook of megabytes, so all of them together are
 * limited; encoders stay far below.
 */
export class CodebookRoom {
  entries = 1 << 18;
  /** Numbers in vectors. */
  values = 1 << 21;
}

/** A Huffman code, and a vector for each of its entries. */
export interface Codebook {
  readonly dimensions: number;
  /** `[entries, dimensions]`, or null for a book that only codes numbers. */
  readonly vectors: Float32Array | null;
  /** The next entry, or -1 at the end of the packet. */
  entry(bits: VorbisBits): number;
}

/** Reads a codebook of the setup header; a string says what is wrong. @param room what it takes is subtracted */
export function readCodebook(bits: VorbisBits, room: CodebookRoom): Codebook | string {
  if (bits.bits(24) !== SYNC) return 'expected the beginning of a codebook';
  const dimensions = bits.bits(16);
  const entryCount = bits.bits(24);
  if (entryCount > room.entries || entryCount === 0 || dimensions === 0) {
    return `a codebook of ${entryCount} entries with ${dimensions} dimensions`;
  }
  room.entries -= entryCount;
  const lengths = bits.flag() ? orderedLengths(bits, entryCount) : plainLengths(bits, entryCount);
  if (lengths === null) return 'the lengths of a codebook are not valid';
  const tree = buildTree(lengths);
  if (typeof tree === 'string') return tree;
  const vectors = readVectors(bits, entryCount, dimensions, room);
  if (typeof vectors === 'string') return vectors;
  if (bits.hasEnded) return 'the setup header ends in a codebook';
  return { dimensions, vectors, entry: entryReader(tree) };
}

function plainLengths(bits: VorbisBits, entryCount: number): Uint8Array | null {
  const isSparse = bits.flag();
  const lengths = new Uint8Array(entryCount);
  for (let entry = 0; entry < entryCount; entry += 1) {
    if (bits.hasEnded) return null;
    lengths[entry] = isSparse && !bits.flag() ? UNUSED : bits.bits(5) + 1;
  }
  return lengths;
}

function orderedLengths(bits: VorbisBits, entryCount: number): Uint8Array | null {
  const lengths = new Uint8Array(entryCount);
  let length = bits.bits(5) + 1;
  for (let entry = 0; entry < entryCount; length += 1) {
    const count = bits.bits(bitLength(entryCount - entry));
    if (length > MAX_LENGTH || entry + count > entryCount || bits.hasEnded) return null;
    lengths.fill(length, entry, entry + count);
    entry += count;
  }
  return lengths;
}

/** Nodes in pairs: `[2n]` and `[2n + 1]` are the children of node n; 0 none yet, > 0 a node, < 0 entry `-1 - value`. */
type Tree = Int32Array;

/**
 * Gives every entry, in order, the leftmost free node at its depth. A single entry gets both codes of one bit.
 */
function buildTree(lengths: Uint8Array): Tree | string {
  const used = lengths.reduce((count, length) => count + (length === UNUSED ? 0 : 1), 0);
  if (used === 0) return Int32Array.of(-1, -1);
  if (used === 1) {
    const only = lengths.findIndex((length) => length !== UNUSED);
    return Int32Array.of(-1 - only, -1 - only);
  }
  // A full tree of n leaves has n - 1 inner nodes; paths to leaves that never come add some until they are refused.
  const tree = new Int32Array(2 * (used + MAX_LENGTH));
  const isFull = new Uint8Array(tree.length / 2);
  let nodeCount = 1;
  const place = (node: number, depth: number, entry: number): boolean => {
    for (let side = 2 * node; side < 2 * node + 2; side += 1) {
      const child = tree[side]!;
      if (child < 0 || (child > 0 && isFull[child])) continue;
      if (depth === 1) {
        if (child > 0) continue;
        tree[side] = -1 - entry;
      } else {
        if (child === 0) {
          if (nodeCount >= isFull.length) return false;
          tree[side] = nodeCount;
          nodeCount += 1;
        }
        if (!place(tree[side]!, depth - 1, entry)) continue;
      }
      const isClosed = (value: number): boolean => value < 0 || (value > 0 && isFull[value] === 1);
      if (isClosed(tree[2 * node]!) && isClosed(tree[2 * node + 1]!)) isFull[node] = 1;
      return true;
    }
    return false;
  };
  for (let entry = 0; entry < lengths.length; entry += 1) {
    const length = lengths[entry]!;
    if (length !== UNUSED && !place(0, length, entry))
      return 'a codebook has more codes than their lengths allow';
  }
  return isFull[0] ? tree : 'a codebook has codes without an entry';
}

function entryReader(tree: Tree): (bits: VorbisBits) => number {
  // Each value: entry and length of the code that the bits begin with, or -1 where it is longer.
  const fastEntries = new Int32Array(1 << FAST_BITS).fill(-1);
  const fastLengths = new Uint8Array(1 << FAST_BITS);
  for (let word = 0; word < fastEntries.length; word += 1) {
    let node = 0;
    for (let length = 1; length <= FAST_BITS && node >= 0; length += 1) {
      node = tree[2 * node + ((word >> (length - 1)) & 1)]!;
      if (node >= 0) continue;
      fastEntries[word] = -1 - node;
      fastLengths[word] = length;
    }
  }
  return (bits) => {
    const word = bits.peek() & ((1 << FAST_BITS) - 1);
    let entry = fastEntries[word]!;
    if (entry >= 0) bits.skip(fastLengths[word]!);
    else {
      let node = 0;
      while (node >= 0) {
        node = tree[2 * node + bits.bits(1)]!;
        if (bits.hasEnded) return -1;
      }
      entry = -1 - node;
    }
    return bits.hasEnded ? -1 : entry;
  };
}

function readVectors(
  bits: VorbisBits,
  entryCount: number,
  dimensions: number,
  room: CodebookRoom,
): Float32Array | string | null {
  const type = bits.bits(4);
  if (type === 0) return null;
  if (type > 2) return `vectors of type ${type}`;
  if (entryCount * dimensions > room.values) return `a codebook of ${entryCount} vectors of ${dimensions}`;
  room.values -= entryCount * dimensions;
  const minimum = bits.float();
  const delta = bits.float();
  const valueBits = bits.bits(4) + 1;
  const isSequence = bits.flag();
  const isLattice = type === 1;
  const valueCount = isLattice ? latticeSize(entryCount, dimensions) : entryCount * dimensions;
  const values = Float64Array.from({ length: valueCount }, () => bits.bits(valueBits));
  const vectors = new Float32Array(entryCount * dimensions);
  for (let entry = 0; entry < entryCount; entry += 1) {
    let last = 0;
    let divisor = 1;
    for (let j = 0; j < dimensions; j += 1) {
      const index = isLattice ? Math.floor(entry / divisor) % valueCount : entry * dimensions + j;
      const value = values[index]! * delta + minimum + last;
      if (isSequence) last = value;
      vectors[entry * dimensions + j] = value;
      divisor *= valueCount;
    }
  }
  return vectors;
}

/** The largest whole r with `r^dimensions <= entryCount`. */
function latticeSize(entryCount: number, dimensions: number): number {
  let size = Math.max(1, Math.floor(entryCount ** (1 / dimensions)));
  while ((size + 1) ** dimensions <= entryCount) size += 1;
  while (size > 1 && size ** dimensions > entryCount) size -= 1;
  return size;
}
