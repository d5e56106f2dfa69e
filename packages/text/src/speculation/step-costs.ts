/** Weight of a new measurement. */
const NEWS = 0.2;
/** Of the time of one row, what a further row is assumed to cost before it was measured. */
const ASSUMED_SLOPE = 0.1;

/** How long steps take, by their number of rows; measured while they run. */
export class StepCosts {
  readonly #measured = new Map<number, number>();
  readonly #recorded = new Set<number>();

  /** Takes a measurement in milliseconds. The first one does not count: it also records a program, or plans launches. */
  record(rows: number, ms: number): void {
    if (!this.#recorded.has(rows)) {
      this.#recorded.add(rows);
      return;
    }
    const known = this.#measured.get(rows);
    // A shorter time counts at once: otherwise one outlier would keep steps with this number of rows from being tried again.
    this.#measured.set(rows, known === undefined || ms < known ? ms : known + NEWS * (ms - known));
  }

  /** Expected milliseconds: measured, or on the line through the nearest measurements. */
  of(rows: number): number {
    const known = this.#measured.get(rows);
    if (known !== undefined) return known;
    const counts = [...this.#measured.keys()].sort((a, b) => a - b);
    if (counts.length === 0) return 1 + ASSUMED_SLOPE * (rows - 1);
    const after = counts.find((count) => count > rows) ?? counts.at(-1)!;
    const before = counts.findLast((count) => count < Math.min(rows, after)) ?? after;
    const low = this.#measured.get(before)!;
    const high = this.#measured.get(after)!;
    const slope = before === after ? low * ASSUMED_SLOPE : Math.max(0, (high - low) / (after - before));
    return Math.max(low + slope * (rows - before), low / 2);
  }
}
