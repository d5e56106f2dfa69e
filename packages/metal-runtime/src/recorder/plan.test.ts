import { describe, expect, it } from 'vitest';
import { readsOf, writesOf } from './families.js';
import type { Graph } from './graph.js';
import { planMemory } from './plan.js';
import { createRecorder, type Recorder } from './recorder.js';
import { baseOf } from './values.js';

function recorder(): Recorder {
  const buffer = { sizeBytes: 4, dispose() {}, [Symbol.dispose]() {} };
  return createRecorder({ maxRows: 3, maxOutputs: 2, upload: () => buffer });
}

/** A seeded generator, so that a failure can be repeated. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % below;
  };
}

/** A random straight-line program over inputs of random widths. */
function randomGraph(seed: number): Graph {
  const next = random(seed);
  const ops = recorder();
  const size = 1 + next(40);
  const values = [ops.input('a', 'T', { axis: 'D', size }), ops.input('b', 'T', { axis: 'D', size })];
  const pick = () => values[next(values.length)]!;
  for (let step = 0; step < 40; step++) {
    values.push(next(2) === 0 ? ops.add(pick(), pick()) : ops.scale(pick(), 2));
  }
  ops.output('early', values[5]!);
  ops.output('late', values.at(-1)!);
  return ops.graph;
}

/** Values that are live at the same time must not share a byte. */
function overlaps(graph: Graph): string[] {
  const plan = planMemory(graph);
  const lives = graph.values.map((value) => {
    const times = graph.nodes.flatMap((node, time) =>
      [...readsOf(node), ...writesOf(node)].some((id) => baseOf(graph, id) === value.id) ? [time] : [],
    );
    if ([...graph.inputs.values()].includes(value.id)) times.push(-1);
    if ([...graph.outputs.values()].includes(value.id)) times.push(graph.nodes.length);
    return { id: value.id, first: Math.min(...times), last: Math.max(...times) };
  });
  return lives.flatMap((a, index) =>
    lives.slice(index + 1).flatMap((b) => {
      const together = a.first <= b.last && b.first <= a.last;
      const [beginA, beginB] = [plan.offsetOf(a.id), plan.offsetOf(b.id)];
      const shared = beginA < beginB + plan.sizeOf(b.id) && beginB < beginA + plan.sizeOf(a.id);
      return together && shared ? [`${a.id} and ${b.id}`] : [];
    }),
  );
}

describe('planMemory', () => {
  it('never lets two live values share memory', () => {
    for (let seed = 0; seed < 50; seed++) expect(overlaps(randomGraph(seed)), `seed ${seed}`).toEqual([]);
  });

  it('reuses the memory of dead values', () => {
    const ops = recorder();
    let x = ops.input('x', 'T', { axis: 'D', size: 64 });
    for (let step = 0; step < 20; step++) x = ops.scale(x, 2);
    ops.output('y', x);
    const rowBytes = 64 * 4;
    // The input, the output and at most one value between them.
    expect(planMemory(ops.graph).arenaBytes).toBe(2 * 3 * rowBytes);
  });

  it('places a view inside its base', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'LP', size: 64 });
    const view = ops.columns(x, { axis: 'P', begin: 16, width: 16 });
    ops.output('y', ops.scale(view, 2));
    const plan = planMemory(ops.graph);
    expect(plan.offsetOf(view.id)).toBe(plan.offsetOf(x.id) + 16 * 4);
  });
});
