import type { Machine } from '../machine.js';

/** A finite list of texts as symbols. A state is a range of the sorted list and the number of symbols read. */
export class ListMachine implements Machine {
  readonly start: number;
  readonly controls: readonly number[];
  readonly #texts: readonly Uint32Array[];
  readonly #places: {
    readonly from: number;
    readonly to: number;
    readonly depth: number;
    readonly cost: number;
  }[] = [];
  readonly #ids = new Map<string, number>();

  constructor(texts: readonly Uint32Array[], controls: readonly number[] = []) {
    this.controls = controls;
    this.#texts = [...texts]
      .sort(compare)
      .filter((text, index, all) => index === 0 || compare(text, all[index - 1]!) !== 0);
    this.start = this.#texts.length === 0 ? -1 : this.#place(0, this.#texts.length, 0);
  }

  isEnd(id: number): boolean {
    const { from, depth } = this.#places[id]!;
    return this.#texts[from]!.length === depth;
  }

  costOf(id: number): number {
    return this.#places[id]!.cost;
  }

  advance(id: number, symbol: number): number {
    const { from, to, depth } = this.#places[id]!;
    const first = this.#bound(from, to, depth, symbol);
    const last = this.#bound(first, to, depth, symbol + 1);
    return first < last ? this.#place(first, last, depth + 1) : -1;
  }

  /**
   * The first text in [from, to) with a symbol of at least `symbol` at `depth`; texts that end before it come first.
   */
  #bound(from: number, to: number, depth: number, symbol: number): number {
    let [low, high] = [from, to];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#texts[middle]![depth] ?? -1) < symbol) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #place(from: number, to: number, depth: number): number {
    const key = `${from}/${to}/${depth}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    let cost = Number.POSITIVE_INFINITY;
    for (let index = from; index < to; index++) cost = Math.min(cost, this.#texts[index]!.length - depth);
    this.#places.push({ from, to, depth, cost });
    this.#ids.set(key, this.#places.length - 1);
    return this.#places.length - 1;
  }
}

function compare(a: Uint32Array, b: Uint32Array): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return a[index]! - b[index]!;
  return a.length - b.length;
}
