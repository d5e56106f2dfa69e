import { CodebookRoom, readCodebook } from './codebook.js';
import { type Floor, readFloor } from './floor.js';
import { type Residue, readResidue } from './residue.js';
import { bitLength, type VorbisBits } from './vorbis-bits.js';

/** A pair of channels that is coded as magnitude and angle. */
export interface Coupling {
  readonly magnitude: number;
  readonly angle: number;
}

/** Which floor and residue the channels use. */
export interface Mapping {
  readonly couplings: readonly Coupling[];
  /** Submap of each channel. */
  readonly channelSubmaps: readonly number[];
  readonly submaps: readonly { readonly floor: Floor; readonly residue: Residue }[];
}

/** A kind of packet. */
export interface Mode {
  readonly isLong: boolean;
  readonly mapping: Mapping;
}

/** Everything that the setup header defines. */
export interface VorbisSetup {
  readonly modes: readonly Mode[];
}

/** Reads the setup header after its signature; a string says what is wrong. */
export function readSetup(bits: VorbisBits, channelCount: number): VorbisSetup | string {
  const room = new CodebookRoom();
  const books = readList(bits.bits(8) + 1, () => readCodebook(bits, room));
  if (typeof books === 'string') return books;
  for (let count = bits.bits(6) + 1; count > 0; count -= 1) {
    if (bits.bits(16) !== 0) return 'a time domain transform, which the format reserves';
  }
  const floors = readList(bits.bits(6) + 1, () => {
    const type = bits.bits(16);
    return type === 1
      ? readFloor(bits, books)
      : `a floor of type ${type}, which no encoder has written since 2002`;
  });
  if (typeof floors === 'string') return floors;
  const residues = readList(bits.bits(6) + 1, () => readResidue(bits, books));
  if (typeof residues === 'string') return residues;
  const mappings = readList(bits.bits(6) + 1, () => readMapping(bits, channelCount, floors, residues));
  if (typeof mappings === 'string') return mappings;
  const modes = readList(bits.bits(6) + 1, () => readMode(bits, mappings));
  if (typeof modes === 'string') return modes;
  return bits.flag() && !bits.hasEnded ? { modes } : 'the setup header is not complete';
}

function readList<T extends object>(count: number, read: () => T | string): readonly T[] | string {
  const list: T[] = [];
  for (let index = 0; index < count; index += 1) {
    const made = read();
    if (typeof made === 'string') return made;
    list.push(made);
  }
  return list;
}

function readMapping(
  bits: VorbisBits,
  channelCount: number,
  floors: readonly Floor[],
  residues: readonly Residue[],
): Mapping | string {
  if (bits.bits(16) !== 0) return 'a mapping of an unknown type';
  const submapCount = bits.flag() ? bits.bits(4) + 1 : 1;
  const couplingCount = bits.flag() ? bits.bits(8) + 1 : 0;
  const channelBits = bitLength(channelCount - 1);
  const couplings = Array.from({ length: couplingCount }, () => {
    const magnitude = bits.bits(channelBits);
    return { magnitude, angle: bits.bits(channelBits) };
  });
  const isCoupled = (pair: Coupling): boolean =>
    pair.magnitude !== pair.angle && pair.magnitude < channelCount && pair.angle < channelCount;
  if (!couplings.every(isCoupled) || bits.bits(2) !== 0) return 'the coupling of channels is not valid';
  const channelSubmaps = Array.from({ length: channelCount }, () => (submapCount > 1 ? bits.bits(4) : 0));
  if (channelSubmaps.some((submap) => submap >= submapCount))
    return 'a channel has a submap that does not exist';
  const submaps = readList(submapCount, () => {
    bits.bits(8);
    const floor = floors[bits.bits(8)];
    const residue = residues[bits.bits(8)];
    return floor === undefined || residue === undefined
      ? 'a submap names a floor or a residue that does not exist'
      : { floor, residue };
  });
  return typeof submaps === 'string' ? submaps : { couplings, channelSubmaps, submaps };
}

function readMode(bits: VorbisBits, mappings: readonly Mapping[]): Mode | string {
  const isLong = bits.flag();
  const hasZeros = bits.bits(16) === 0 && bits.bits(16) === 0;
  const mapping = mappings[bits.bits(8)];
  return hasZeros && mapping !== undefined ? { isLong, mapping } : 'a mode is not valid';
}
