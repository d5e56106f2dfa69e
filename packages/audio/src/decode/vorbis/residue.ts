import type { Codebook } from './codebook.js';
import type { VorbisBits } from './vorbis-bits.js';

const PASSES = 8;

/** How the fine structure of the spectrum is coded: partitions, each of a class that names a codebook for every pass. */
export interface Residue {
  /** 0: numbers of a vector lie apart; 1: side by side; 2: as 1, over all channels interleaved. */
  readonly type: 0 | 1 | 2;
  readonly begin: number;
  readonly end: number;
  readonly partitionSize: number;
  readonly classCount: number;
  readonly classBook: Codebook;
  /** `[class][pass]`; null = nothing is added. */
  readonly books: readonly (readonly (Codebook | null)[])[];
}

/** Reads a residue of the setup header; a string says what is wrong. */
export function readResidue(bits: VorbisBits, books: readonly Codebook[]): Residue | string {
  const type = bits.bits(16);
  if (type > 2) return `a residue of type ${type}`;
  const begin = bits.bits(24);
  const end = bits.bits(24);
  const partitionSize = bits.bits(24) + 1;
  const classCount = bits.bits(6) + 1;
  const classBook = books[bits.bits(8)];
  const cascades = Array.from({ length: classCount }, () => {
    const low = bits.bits(3);
    return low + 8 * (bits.flag() ? bits.bits(5) : 0);
  });
  let isValid = classBook !== undefined && begin <= end;
  const chosen = cascades.map((cascade) =>
    Array.from({ length: PASSES }, (_, pass) => {
      if (((cascade >> pass) & 1) === 0) return null;
      const book = books[bits.bits(8)];
      isValid &&= book !== undefined && book.vectors !== null && partitionSize % book.dimensions === 0;
      return book ?? null;
    }),
  );
  if (!isValid || classBook === undefined) return 'a residue names a codebook that does not fit';
  return { type: type as 0 | 1 | 2, begin, end, partitionSize, classCount, classBook, books: chosen };
}

/**
 * Adds the residue of a packet to the spectra of channels, which begin as zeros. Where the packet ends too early, the rest stays
 * zero.
 *
 * @param isSilent channels for which nothing is coded
 */
export function decodeResidue(
  bits: VorbisBits,
  residue: Residue,
  spectra: readonly Float32Array[],
  isSilent: readonly boolean[],
): void {
  if (residue.type !== 2) {
    const coded = spectra.filter((_, channel) => !isSilent[channel]);
    decodeVectors(bits, residue, coded);
    return;
  }
  if (isSilent.every(Boolean)) return;
  const size = spectra[0]!.length;
  const interleaved = new Float32Array(size * spectra.length);
  decodeVectors(bits, residue, [interleaved]);
  spectra.forEach((spectrum, channel) => {
    for (let j = 0; j < size; j += 1) spectrum[j] = interleaved[j * spectra.length + channel]!;
  });
}

function decodeVectors(bits: VorbisBits, residue: Residue, vectors: readonly Float32Array[]): void {
  if (vectors.length === 0) return;
  const { begin, partitionSize, classBook, classCount, books } = residue;
  const end = Math.min(residue.end, vectors[0]!.length);
  const partitionCount = Math.max(0, Math.floor((end - begin) / partitionSize));
  const classes = vectors.map(() => new Uint8Array(partitionCount + classBook.dimensions));
  for (let pass = 0; pass < PASSES; pass += 1) {
    for (let partition = 0; partition < partitionCount; ) {
      if (pass === 0 && !readClasses(bits, classBook, classCount, classes, partition)) return;
      const groupEnd = Math.min(partition + classBook.dimensions, partitionCount);
      for (; partition < groupEnd; partition += 1) {
        const from = begin + partition * partitionSize;
        for (let index = 0; index < vectors.length; index += 1) {
          const book = books[classes[index]![partition]!]![pass]!;
          if (book !== null && !addPartition(bits, book, vectors[index]!, from, partitionSize, residue.type))
            return;
        }
      }
    }
  }
}

/** Classes of the next partitions of every vector: digits of one number each, the last one lowest. */
function readClasses(
  bits: VorbisBits,
  book: Codebook,
  classCount: number,
  classes: readonly Uint8Array[],
  partition: number,
): boolean {
  for (const row of classes) {
    let digits = book.entry(bits);
    if (digits < 0) return false;
    for (let j = book.dimensions - 1; j >= 0; j -= 1) {
      row[partition + j] = digits % classCount;
      digits = Math.floor(digits / classCount);
    }
  }
  return true;
}

function addPartition(
  bits: VorbisBits,
  book: Codebook,
  target: Float32Array,
  from: number,
  size: number,
  type: number,
): boolean {
  const { dimensions } = book;
  const vectors = book.vectors!;
  const count = size / dimensions;
  for (let index = 0; index < count; index += 1) {
    const entry = book.entry(bits);
    if (entry < 0) return false;
    const at = entry * dimensions;
    // Type 0 spreads a vector over the partition; the others keep it together.
    const step = type === 0 ? count : 1;
    let place = type === 0 ? from + index : from + index * dimensions;
    for (let j = 0; j < dimensions; j += 1, place += step) target[place] = target[place]! + vectors[at + j]!;
  }
  return true;
}
