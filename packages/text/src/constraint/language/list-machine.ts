import type { Machine } from '../machine.js';
import type { ListData } from '../machine-data.js';

/** A finite list of texts as symbols. A state is a range of the sorted list and the number of symbols read. */
export class ListMachine implements Machine {
  readonly start: number;
  readonly data: ListData;
  readonly #places: {
    readonly from: number;
    readonly to: number;
    readonly depth: number;
    readonly cost: number;
  }[] = [];
  readonly #ids = new Map<string, number>();

  constructor(data: ListData) {
    this.data = data;
    const count = data.first.length - 1;
    this.start = count === 0 ? -1 : this.#place(0, count, 0);
  }

  /** The machine of these texts. */
  static of(texts: readonly Uint32Array[], controls: readonly number[] = []): ListMachine {
    const sorted = [...texts]
      .sort(compare)
      .filter((text, index, all) => index === 0 || compare(text, all[index - 1]!) !== 0);
    const first = new Uint32Array(sorted.length + 1);
    for (const [index, { length }] of sorted.entries()) first[index + 1] = first[index]! + length;
    const symbols = new Uint32Array(first[sorted.length]!);
    for (const [index, text] of sorted.entries()) symbols.set(text, first[index]!);
    return new ListMachine({ kind: 'list', symbols, first, controls });
  }

  get controls(): readonly number[] {
    return this.data.controls;
  }

  isEnd(id: number): boolean {
    const { from, depth } = this.#places[id]!;
    return this.#length(from) === depth;
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

  #length(text: number): number {
    return this.data.first[text + 1]! - this.data.first[text]!;
  }

  /**
   * The first text in [from, to) with a symbol of at least `symbol` at `depth`; texts that end before it come first.
   */
  #bound(from: number, to: number, depth: number, symbol: number): number {
    const { symbols, first } = this.data;
    let [low, high] = [from, to];
    while (low < high) {
      const middle = (low + high) >> 1;
      const own = depth < this.#length(middle) ? symbols[first[middle]! + depth]! : -1;
      if (own < symbol) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #place(from: number, to: number, depth: number): number {
    const key = `${from}/${to}/${depth}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    let cost = Number.POSITIVE_INFINITY;
    for (let index = from; index < to; index++) cost = Math.min(cost, this.#length(index) - depth);
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
