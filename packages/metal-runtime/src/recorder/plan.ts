import { readsOf, writesOf } from './families.js';
import type { Merge } from './fusions/merge.js';
import type { Graph } from './graph.js';
import { baseOf, type ValueRecord } from './values.js';

/** The location of every activation of a program in its arena. */
export interface MemoryPlan {
  readonly arenaBytes: number;
  /** Offset of a value (of its base, for a view) in bytes. */
  offsetOf(id: number): number;
  /** Bytes that the value may span from its offset on. */
  sizeOf(id: number): number;
}

/** Every activation starts on a cache line, which also suits any vector load. */
const ALIGNMENT_BYTES = 64;
const ELEMENT_BYTES = 4;

interface Span {
  readonly value: ValueRecord;
  readonly sizeBytes: number;
  first: number;
  last: number;
}

interface Placed {
  readonly begin: number;
  readonly end: number;
  readonly span: Span;
}

/**
 * Assigns offsets so that values with overlapping lifetimes do not overlap in memory: largest first, each at the lowest offset that is free
 * during its lifetime. Inputs live from the start, outputs to the end. If the nodes of a merge may run as one, the values that they read
 * and store live until the last node; values between them may share that memory, because they are then not stored.
 */
export function planMemory(graph: Graph, merges: readonly Merge[] = []): MemoryPlan {
  const spans = lifetimes(graph, merges);
  const placed: Placed[] = [];
  const offsets = new Map<number, number>();
  for (const span of [...spans.values()].sort((a, b) => b.sizeBytes - a.sizeBytes || a.first - b.first)) {
    const neighbours = placed
      .filter((other) => other.span.first <= span.last && span.first <= other.span.last)
      .sort((a, b) => a.begin - b.begin);
    let begin = 0;
    for (const other of neighbours) {
      if (begin + span.sizeBytes <= other.begin) break;
      begin = Math.max(begin, other.end);
    }
    placed.push({ begin, end: begin + span.sizeBytes, span });
    offsets.set(span.value.id, begin);
  }
  const arenaBytes = placed.reduce((most, { end }) => Math.max(most, end), 0);
  return {
    arenaBytes,
    offsetOf: (id) => {
      const view = graph.values[id]!.view;
      return offsets.get(baseOf(graph, id))! + (view?.offset ?? 0) * ELEMENT_BYTES;
    },
    sizeOf: (id) => {
      const { maxRows, width } = graph.values[baseOf(graph, id)]!;
      return (maxRows * width - (graph.values[id]!.view?.offset ?? 0)) * ELEMENT_BYTES;
    },
  };
}

function lifetimes(graph: Graph, merges: readonly Merge[]): Map<number, Span> {
  const spans = new Map<number, Span>();
  const touch = (id: number, time: number): void => {
    const value = graph.values[baseOf(graph, id)]!;
    const span = spans.get(value.id);
    if (span) {
      span.first = Math.min(span.first, time);
      span.last = Math.max(span.last, time);
      return;
    }
    const bytes = value.maxRows * value.width * ELEMENT_BYTES;
    const sizeBytes = Math.max(Math.ceil(bytes / ALIGNMENT_BYTES), 1) * ALIGNMENT_BYTES;
    spans.set(value.id, { value, sizeBytes, first: time, last: time });
  };
  for (const id of graph.inputs.values()) touch(id, -1);
  for (const [time, node] of graph.nodes.entries()) {
    for (const id of [...readsOf(node), ...writesOf(node)]) touch(id, time);
    // Results of the sampler are read back after the step.
    if (node.kind === 'sample') for (const id of writesOf(node)) touch(id, graph.nodes.length);
  }
  for (const { parts, between } of merges.filter(({ isAtOnce }) => isAtOnce)) {
    const last = graph.nodes.indexOf(parts.at(-1)!);
    const touched = parts.flatMap((part) => [...readsOf(part), ...writesOf(part)]);
    for (const id of touched.filter((id) => !between.includes(id))) touch(id, last);
  }
  for (const id of graph.outputs.values()) touch(id, graph.nodes.length);
  return spans;
}
