import type { Graph, Node } from '../graph.js';
import { Uses } from '../uses.js';

/** A rewrite of a recorded graph that changes its cost, but never its results. */
export interface Fusion {
  /** Name of the switch in `RecordOptions.fusions`. */
  readonly name: string;
  /**
   * Tries to fuse at one node. Returns its replacement and the other nodes to remove, or null if the pattern does not
   * begin here.
   */
  match(node: Node, uses: Uses, graph: Graph): { replacement: Node; absorbed: readonly Node[] } | null;
}

/** Applies one fusion until it no longer matches. */
export function applyFusion(graph: Graph, fusion: Fusion): void {
  for (let changed = true; changed; ) {
    changed = false;
    const uses = new Uses(graph);
    const gone = new Set<Node>();
    const touched = new Set<Node>();
    const nodes: Node[] = [];
    for (const node of graph.nodes) {
      const found = gone.has(node) ? null : fusion.match(node, uses, graph);
      // A node that took part in a fusion of this pass has stale uses: leave the next one to the next pass.
      if (found && ![node, ...found.absorbed].some((part) => touched.has(part))) {
        changed = true;
        for (const part of found.absorbed) gone.add(part);
        for (const part of [node, ...found.absorbed]) touched.add(part);
        nodes.push(found.replacement);
      } else nodes.push(node);
    }
    graph.nodes = nodes.filter((node) => !gone.has(node));
  }
}
