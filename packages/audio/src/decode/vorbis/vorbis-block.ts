import { applyFloor, readHeights } from './floor.js';
import { InverseMdct } from './inverse-mdct.js';
import { decodeResidue } from './residue.js';
import type { VorbisBits } from './vorbis-bits.js';
import type { Coupling, Mapping } from './vorbis-setup.js';

/** Decodes the spectra of one size of block, and transforms them. */
export class VorbisBlock {
  readonly size: number;
  readonly #mdct: InverseMdct;
  readonly #spectra: readonly Float32Array[];
  readonly #outputs: readonly Float32Array[];

  constructor(size: number, channelCount: number) {
    this.size = size;
    this.#mdct = new InverseMdct(size);
    this.#spectra = Array.from({ length: channelCount }, () => new Float32Array(size / 2));
    this.#outputs = Array.from({ length: channelCount }, () => new Float32Array(size));
  }

  /** Samples of every channel before the window, valid until the next call. */
  decode(bits: VorbisBits, mapping: Mapping): readonly Float32Array[] {
    const spectra = this.#spectra;
    for (const spectrum of spectra) spectrum.fill(0);
    const heights = spectra.map((_, channel) => readHeights(bits, this.#submap(mapping, channel).floor));
    const isSilent = heights.map((height) => height === null);
    for (const { magnitude, angle } of mapping.couplings) {
      if (isSilent[magnitude] && isSilent[angle]) continue;
      isSilent[magnitude] = false;
      isSilent[angle] = false;
    }
    mapping.submaps.forEach(({ residue }, submap) => {
      const own = spectra
        .map((_, channel) => channel)
        .filter((channel) => mapping.channelSubmaps[channel] === submap);
      if (own.length === 0) return;
      const silent = own.map((channel) => isSilent[channel]!);
      decodeResidue(
        bits,
        residue,
        own.map((channel) => spectra[channel]!),
        silent,
      );
    });
    for (const pair of mapping.couplings.toReversed()) uncouple(spectra, pair);
    spectra.forEach((spectrum, channel) => {
      const height = heights[channel]!;
      if (height === null) spectrum.fill(0);
      else applyFloor(this.#submap(mapping, channel).floor, height, spectrum);
      this.#mdct.transform(spectrum, this.#outputs[channel]!);
    });
    return this.#outputs;
  }

  #submap(mapping: Mapping, channel: number): Mapping['submaps'][number] {
    return mapping.submaps[mapping.channelSubmaps[channel]!]!;
  }
}

/** Magnitude and angle become the two channels: one is the magnitude, the other differs from it by the angle. */
function uncouple(spectra: readonly Float32Array[], pair: Coupling): void {
  const first = spectra[pair.magnitude]!;
  const second = spectra[pair.angle]!;
  for (let j = 0; j < first.length; j += 1) {
    const m = first[j]!;
    const a = second[j]!;
    if (a > 0) second[j] = m > 0 ? m - a : m + a;
    else {
      first[j] = m > 0 ? m + a : m - a;
      second[j] = m;
    }
  }
}
