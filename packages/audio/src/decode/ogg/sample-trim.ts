/** Numbers, over all channels, that are collected before they are passed on: 1 MiB. */
const BATCH_SAMPLES = 2 ** 18;

/**
 * Cuts what a codec decodes to the samples that granule positions count: removes the warm-up at the start, and the padding
 * of the last packet at the end.
 *
 * The position at the end of the last page determines how many of its samples belong to the sound; it is known before the
 * page is decoded. So samples only wait for a batch to fill up, however many packets a page has.
 */
export class SampleTrim {
  #skip: number;
  #waiting: (readonly Float32Array[])[] = [];
  #waitingSamples = 0;
  #decoded = 0;
  /** Granule position of the first decoded sample; known at the end of the first page with sound. */
  #base: number | null = null;
  /** Samples per channel that the current page may still add. */
  #left = Number.POSITIVE_INFINITY;

  /** @param preSkip samples at the beginning that are not heard */
  constructor(preSkip: number) {
    this.#skip = preSkip;
  }

  /** Begins a page that ends at this granule position; null if no packet ends in it. */
  beginPage(granule: number | null, isLast: boolean): void {
    const isCut = isLast && granule !== null;
    this.#left = isCut ? Math.max(0, granule - (this.#base ?? 0) - this.#decoded) : Number.POSITIVE_INFINITY;
  }

  /** Takes the samples of a packet; returns those of a full batch, or none. */
  push(channels: readonly Float32Array[]): readonly Float32Array[] {
    const decoded = channels[0]?.length ?? 0;
    const count = Math.min(decoded, this.#left);
    this.#decoded += decoded;
    this.#left -= count;
    if (count === 0) return [];
    this.#waiting.push(count === decoded ? channels : channels.map((samples) => samples.subarray(0, count)));
    this.#waitingSamples += count * channels.length;
    return this.#waitingSamples < BATCH_SAMPLES ? [] : this.#take();
  }

  /** The remaining samples of the page that ends here. */
  endPage(granule: number | null, isLast: boolean): readonly Float32Array[] {
    if (granule === null || this.#decoded === 0) return [];
    if (!isLast) this.#base ??= Math.max(0, granule - this.#decoded);
    return this.#take();
  }

  /** Samples of a page that never ended. */
  flush(): readonly Float32Array[] {
    return this.#take();
  }

  #take(): readonly Float32Array[] {
    const pieces = this.#waiting;
    this.#waiting = [];
    this.#waitingSamples = 0;
    const total = pieces.reduce((sum, piece) => sum + piece[0]!.length, 0);
    const begin = Math.min(this.#skip, total);
    this.#skip -= begin;
    const channelCount = pieces[0]?.length ?? 0;
    return Array.from({ length: channelCount }, (_, channel) => {
      const joined = new Float32Array(total);
      let at = 0;
      for (const piece of pieces) {
        joined.set(piece[channel]!, at);
        at += piece[channel]!.length;
      }
      return joined.subarray(begin);
    });
  }
}
