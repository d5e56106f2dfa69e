import { readsOf, writesOf } from './families.js';
import type { Graph, Node } from './graph.js';
import { baseOf } from './values.js';

/** Who writes and who reads each value, for fusions. */
export class Uses {
  readonly #graph: Graph;
  readonly #producers = new Map<number, Node>();
  readonly #readers = new Map<number, Node[]>();
  readonly #kept: Set<number>;

  constructor(graph: Graph) {
    this.#graph = graph;
    for (const node of graph.nodes) {
      for (const id of writesOf(node)) this.#producers.set(id, node);
      for (const id of readsOf(node)) {
        const base = baseOf(graph, id);
        const readers = this.#readers.get(base);
        if (readers) readers.push(node);
        else this.#readers.set(base, [node]);
      }
    }
    this.#kept = new Set([...graph.outputs.values()].map((id) => baseOf(graph, id)));
  }

  /** The node that wrote exactly this value; none for inputs and views. */
  producer(id: number): Node | null {
    return this.#producers.get(id) ?? null;
  }

  /** Every read of the value or of a view of it, once per read. */
  readers(id: number): readonly Node[] {
    return this.#readers.get(id) ?? [];
  }

  /** True if exactly one node reads the value, none reads a view of it, and it is not an output of the program. */
  isOnlyReadBy(id: number, node: Node): boolean {
    const readers = this.readers(id);
    return (
      readers.length === 1 && readers[0] === node && !this.isKept(id) && this.#graph.values[id]!.view === null
    );
  }

  /** True if the value can be read after the step. */
  isKept(id: number): boolean {
    return this.#kept.has(id);
  }
}
