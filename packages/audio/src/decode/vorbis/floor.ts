import type { Codebook } from './codebook.js';
import { bitLength, type VorbisBits } from './vorbis-bits.js';

const RANGES = [256, 128, 86, 64] as const;
const MAX_POINTS = 65;

interface FloorClass {
  readonly dimensions: number;
  readonly subclassBits: number;
  readonly masterBook: Codebook | null;
  /** One a subclass; null = the value is 0. */
  readonly books: readonly (Codebook | null)[];
}

/** A spectral envelope: points joined by straight lines, in dB (floor type 1). */
export interface Floor {
  readonly multiplier: number;
  /** Classes of the partitions, in the order of their points. */
  readonly partitions: readonly FloorClass[];
  /** Frequencies of the points; the first two are the ends. */
  readonly points: readonly number[];
  /** Indices of `points` by rising frequency. */
  readonly order: readonly number[];
  /** For each point from the third on: the nearest earlier ones below and above. */
  readonly neighbours: readonly (readonly [below: number, above: number])[];
}

/** Amplitudes of the 256 steps of an envelope: 140 dB in steps of 140/256. */
const AMPLITUDES = Float32Array.from(
  { length: 256 },
  (_, step) => 10 ** ((140 * (step + 1 - 256)) / 256 / 20),
);

/** Reads a floor of type 1 of the setup header; a string says what is wrong. */
export function readFloor(bits: VorbisBits, books: readonly Codebook[]): Floor | string {
  const partitionClasses = Array.from({ length: bits.bits(5) }, () => bits.bits(4));
  const classCount = Math.max(-1, ...partitionClasses) + 1;
  const classes: FloorClass[] = [];
  for (let index = 0; index < classCount; index += 1) {
    const made = readClass(bits, books);
    if (made === null) return 'a floor names a codebook that does not exist';
    classes.push(made);
  }
  const multiplier = bits.bits(2) + 1;
  const rangeBits = bits.bits(4);
  const points = [0, 2 ** rangeBits];
  const partitions = partitionClasses.map((index) => classes[index]!);
  for (const { dimensions } of partitions) {
    for (let j = 0; j < dimensions; j += 1) points.push(bits.bits(rangeBits));
  }
  if (points.length > MAX_POINTS || new Set(points).size < points.length)
    return 'the points of a floor are not valid';
  const order = points.map((_, index) => index).sort((a, b) => points[a]! - points[b]!);
  const neighbours = points.slice(2).map((_, index) => neighboursOf(points, index + 2));
  return { multiplier, partitions, points, order, neighbours };
}

function readClass(bits: VorbisBits, books: readonly Codebook[]): FloorClass | null {
  const dimensions = bits.bits(3) + 1;
  const subclassBits = bits.bits(2);
  const masterBook = subclassBits > 0 ? books[bits.bits(8)] : null;
  const indices = Array.from({ length: 2 ** subclassBits }, () => bits.bits(8) - 1);
  if (masterBook === undefined || indices.some((index) => index >= books.length)) return null;
  return { dimensions, subclassBits, masterBook, books: indices.map((index) => books[index] ?? null) };
}

function neighboursOf(points: readonly number[], index: number): readonly [number, number] {
  let below = 0;
  let above = 1;
  const at = points[index]!;
  for (let j = 0; j < index; j += 1) {
    const point = points[j]!;
    if (point < at && point > points[below]!) below = j;
    if (point > at && point < points[above]!) above = j;
  }
  return [below, above];
}

/** Reads the heights of the points of one channel; null when the channel is silent, or the packet ends. */
export function readHeights(bits: VorbisBits, floor: Floor): Int32Array | null {
  if (!bits.flag()) return null;
  const heights = new Int32Array(floor.points.length);
  const width = bitLength(RANGES[floor.multiplier - 1]! - 1);
  heights[0] = bits.bits(width);
  heights[1] = bits.bits(width);
  let at = 2;
  for (const { dimensions, subclassBits, masterBook, books } of floor.partitions) {
    let subclasses = masterBook === null ? 0 : masterBook.entry(bits);
    for (let j = 0; j < dimensions; j += 1, at += 1) {
      const book = books[subclasses & (2 ** subclassBits - 1)] ?? null;
      subclasses >>= subclassBits;
      heights[at] = book === null ? 0 : book.entry(bits);
    }
  }
  return bits.hasEnded ? null : heights;
}

/** Multiplies `spectrum` with the envelope that goes through the points of these heights. */
export function applyFloor(floor: Floor, coded: Int32Array, spectrum: Float32Array): void {
  const { heights, isUsed } = unfold(floor, coded);
  const { points, order, multiplier } = floor;
  let x = 0;
  let y = heights[order[0]!]! * multiplier;
  for (const index of order.slice(1)) {
    if (!isUsed[index]) continue;
    const height = heights[index]! * multiplier;
    multiplyLine(spectrum, x, y, points[index]!, height);
    x = points[index]!;
    y = height;
  }
  if (x < spectrum.length) multiplyLine(spectrum, x, y, spectrum.length, y);
}

/** Coded heights are differences to a line between neighbours, folded so that none leaves the range. */
function unfold(floor: Floor, coded: Int32Array): { heights: Int32Array; isUsed: Uint8Array } {
  const { points, neighbours } = floor;
  const range = RANGES[floor.multiplier - 1]!;
  const heights = Int32Array.from(coded);
  const isUsed = new Uint8Array(points.length);
  isUsed[0] = 1;
  isUsed[1] = 1;
  for (let index = 2; index < points.length; index += 1) {
    const [below, above] = neighbours[index - 2]!;
    const predicted = lineAt(
      points[below]!,
      heights[below]!,
      points[above]!,
      heights[above]!,
      points[index]!,
    );
    const value = coded[index]!;
    if (value === 0) {
      heights[index] = predicted;
      continue;
    }
    isUsed[index] = 1;
    isUsed[below] = 1;
    isUsed[above] = 1;
    const roomAbove = range - predicted;
    const room = 2 * Math.min(roomAbove, predicted);
    if (value >= room) {
      heights[index] = roomAbove > predicted ? value : predicted - value + roomAbove - 1;
    } else {
      heights[index] = value % 2 === 1 ? predicted - (value + 1) / 2 : predicted + value / 2;
    }
  }
  return { heights, isUsed };
}

function lineAt(x0: number, y0: number, x1: number, y1: number, x: number): number {
  const rise = Math.floor((Math.abs(y1 - y0) * (x - x0)) / (x1 - x0));
  return y1 < y0 ? y0 - rise : y0 + rise;
}

/** Multiplies `spectrum[x0 … x1)` with the amplitudes along a line of whole steps. */
function multiplyLine(spectrum: Float32Array, x0: number, y0: number, x1: number, y1: number): void {
  const end = Math.min(x1, spectrum.length);
  const width = x1 - x0;
  const base = Math.trunc((y1 - y0) / width);
  const extra = Math.abs(y1 - y0) - Math.abs(base) * width;
  const sign = y1 < y0 ? -1 : 1;
  let y = y0;
  let error = 0;
  for (let x = x0; x < end; x += 1) {
    spectrum[x] = spectrum[x]! * AMPLITUDES[Math.min(255, Math.max(0, y))]!;
    y += base;
    error += extra;
    if (error >= width) {
      error -= width;
      y += sign;
    }
  }
}
