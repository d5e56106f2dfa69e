import { readsOf, writesOf } from '../families.js';
import type { Graph, Node } from '../graph.js';
import { Uses } from '../uses.js';

/**
 * Adjacent nodes of a graph that a backend may run together, with fewer launches. Unlike a fusion, it leaves the nodes unchanged: depending
 * on its kind and the rows of a step, a backend takes the merge or runs its nodes one by one.
 */
export interface Merge {
  /** Name of its rule, and of its switch in `RecordOptions.fusions`. */
  readonly name: string;
  readonly parts: readonly Node[];
  /** Values that one part computes for a later one and that no other node reads. They are not stored if the merge is taken. */
  readonly between: readonly number[];
  /** True if one launch does all of it; else the parts keep separate launches. */
  readonly isAtOnce: boolean;
}

/** Finds merges of one kind. */
export interface MergeRule {
  readonly name: string;
  readonly isAtOnce: boolean;
  /** 'begin': the parts read no result of a node and move to the beginning; 'last': they move down to the last one. */
  readonly place: 'begin' | 'last';
  /** The parts of every merge in a graph. A value that one part writes and another reads has no other reader. */
  find(graph: Graph, uses: Uses): Iterable<readonly Node[]>;
}

/** Finds the merges of all rules, with each node in at most one, and makes the parts of each adjacent in the graph. */
export function applyMerges(graph: Graph, rules: readonly MergeRule[]): Merge[] {
  const uses = new Uses(graph);
  const taken = new Set<Node>();
  const merges: Merge[] = [];
  const beginning: Node[] = [];
  const placed = new Map<Node, readonly Node[]>();
  for (const rule of rules) {
    for (const parts of rule.find(graph, uses)) {
      if (parts.some((part) => taken.has(part))) continue;
      for (const part of parts) taken.add(part);
      const written = new Set(parts.flatMap(writesOf));
      const between = parts.flatMap(readsOf).filter((id) => written.has(id));
      merges.push({ name: rule.name, parts, between, isAtOnce: rule.isAtOnce });
      if (rule.place === 'begin') beginning.push(...parts);
      else placed.set(parts.at(-1)!, parts);
    }
  }
  const rest = graph.nodes.flatMap((node) => placed.get(node) ?? (taken.has(node) ? [] : [node]));
  graph.nodes = [...beginning, ...rest];
  return merges;
}

/** The parts of the merges of one kind, each found from its last part; `before`: the preceding node. */
export function* findByLast(
  { nodes }: Graph,
  match: (node: Node, before: Node | undefined) => readonly Node[] | null,
): Iterable<readonly Node[]> {
  for (const [index, node] of nodes.entries()) {
    const parts = match(node, nodes[index - 1]);
    if (parts) yield parts;
  }
}
