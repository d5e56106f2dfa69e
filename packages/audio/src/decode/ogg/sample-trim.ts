/**
 * Cuts what a codec decodes to the samples that granule positions count: removes the warm-up at the start, and the padding
 * of the last packet at the end.
 *
 * Samples wait until their page ends, because the position at its end determines which of them belong to the sound.
 */
export class SampleTrim {
  #skip: number;
  #waiting: (readonly Float32Array[])[] = [];
  #decoded = 0;
  /** Granule position of the first decoded sample; known at the end of the first page with sound. */
  #base: number | null = null;

  /** @param preSkip samples at the beginning that are not heard */
  constructor(preSkip: number) {
    this.#skip = preSkip;
  }

  /** Takes the samples of a packet. */
  push(channels: readonly Float32Array[]): void {
    if (channels.length === 0 || channels[0]!.length === 0) return;
    this.#waiting.push(channels);
    this.#decoded += channels[0]!.length;
  }

  /** Samples of the page that ends here. */
  endPage(granule: number | null, isLast: boolean): readonly Float32Array[] {
    if (granule === null || this.#decoded === 0) return [];
    if (this.#base === null && !isLast) this.#base = Math.max(0, granule - this.#decoded);
    const end = granule - (this.#base ?? 0);
    const excess = isLast ? Math.max(0, this.#decoded - end) : 0;
    return this.#take(excess);
  }

  /** Samples of a page that never ended. */
  flush(): readonly Float32Array[] {
    return this.#take(0);
  }

  #take(excess: number): readonly Float32Array[] {
    const pieces = this.#waiting;
    this.#waiting = [];
    const total = pieces.reduce((sum, piece) => sum + piece[0]!.length, 0);
    const begin = Math.min(this.#skip, total);
    this.#skip -= begin;
    const end = Math.max(begin, total - excess);
    const channelCount = pieces[0]?.length ?? 0;
    return Array.from({ length: channelCount }, (_, channel) => {
      const joined = new Float32Array(total);
      let at = 0;
      for (const piece of pieces) {
        joined.set(piece[channel]!, at);
        at += piece[channel]!.length;
      }
      return joined.subarray(begin, end);
    });
  }
}
