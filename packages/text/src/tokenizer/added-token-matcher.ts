/** A literal found in a text. */
export interface AddedTokenMatch {
  readonly id: number;
  readonly begin: number;
  readonly end: number;
}

/** Finds the literal texts of added tokens: the leftmost match, and the longest of those that start there. */
export class AddedTokenMatcher {
  /** First characters of all literals, as UTF-16 code units. */
  readonly firstUnits: ReadonlySet<number>;
  readonly isEmpty: boolean;
  // A trie: the edge from node n by code unit u has the key n · 2¹⁶ + u; node 0 is the root.
  readonly #edges = new Map<number, number>();
  readonly #idAtNode = new Map<number, number>();

  constructor(tokens: Iterable<{ readonly id: number; readonly text: string }>) {
    const firstUnits = new Set<number>();
    let nodeCount = 1;
    for (const { id, text } of tokens) {
      if (text === '') continue;
      firstUnits.add(text.charCodeAt(0));
      let node = 0;
      for (let index = 0; index < text.length; index++) {
        const key = node * 0x10000 + text.charCodeAt(index);
        let child = this.#edges.get(key);
        if (child === undefined) {
          child = nodeCount++;
          this.#edges.set(key, child);
        }
        node = child;
      }
      this.#idAtNode.set(node, id);
    }
    this.firstUnits = firstUnits;
    this.isEmpty = firstUnits.size === 0;
  }

  /** The first match that starts at `from` or later, or null. */
  next(text: string, from: number): AddedTokenMatch | null {
    if (this.isEmpty) return null;
    for (let begin = from; begin < text.length; begin++) {
      if (!this.firstUnits.has(text.charCodeAt(begin))) continue;
      const match = this.#longestAt(text, begin);
      if (match !== null) return match;
    }
    return null;
  }

  #longestAt(text: string, begin: number): AddedTokenMatch | null {
    let node = 0;
    let best: AddedTokenMatch | null = null;
    for (let index = begin; index < text.length; index++) {
      const child = this.#edges.get(node * 0x10000 + text.charCodeAt(index));
      if (child === undefined) break;
      node = child;
      const id = this.#idAtNode.get(node);
      if (id !== undefined) best = { id, begin, end: index + 1 };
    }
    return best;
  }
}
