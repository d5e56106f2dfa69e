/** Rate of a growing number over the last seconds. */
export class RateMeter {
  readonly #points: { readonly amount: number; readonly atMs: number }[] = [];
  static readonly WINDOW_MS = 3000;

  /** Adds a reading. @returns units per second; null before there are two readings */
  update(amount: number, atMs: number): number | null {
    const last = this.#points.at(-1);
    // Another file or stage has started: the old readings no longer apply.
    if (last && amount < last.amount) this.#points.length = 0;
    this.#points.push({ amount, atMs });
    while (this.#points.length > 2 && atMs - this.#points[0]!.atMs > RateMeter.WINDOW_MS)
      this.#points.shift();
    const first = this.#points[0]!;
    return atMs > first.atMs ? ((amount - first.amount) * 1000) / (atMs - first.atMs) : null;
  }
}
