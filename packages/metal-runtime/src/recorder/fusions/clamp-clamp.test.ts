import { describe, expect, it } from 'vitest';
import { createRecorder } from '../recorder.js';
import { fuse } from './index.js';

const buffer = { sizeBytes: 4, dispose() {}, [Symbol.dispose]() {} };

/** Records a chain of clamps and returns the bounds of those that remain. */
function bounds(ranges: readonly [low: number, high: number][], isKept = false): [number, number][] {
  const ops = createRecorder({ maxRows: 2, maxOutputs: 1, upload: () => buffer });
  let x = ops.input('x', 'T', { axis: 'D', size: 4 });
  for (const [index, [low, high]] of ranges.entries()) {
    x = ops.clamp(x, { low, high });
    if (isKept && index === 0) ops.output('first', x);
  }
  ops.output('y', x);
  fuse(ops.graph, undefined);
  return ops.graph.nodes.flatMap((node) => (node.kind === 'elementwise' ? [[node.scale, node.high]] : []));
}

describe('clamp-clamp', () => {
  it('leaves one clamp with the combined bounds', () => {
    const ranges: [number, number][] = [
      [-3, 5],
      [-1e10, 1e10],
      [-2, 9],
    ];
    expect(bounds(ranges)).toEqual([[-2, 5]]);
  });

  it('handles ranges that do not overlap', () => {
    const ranges: [number, number][] = [
      [3, 5],
      [-1, 1],
    ];
    expect(bounds(ranges)).toEqual([[1, 1]]);
  });

  it('keeps a clamp that another node reads', () => {
    const ranges: [number, number][] = [
      [-3, 5],
      [-2, 2],
    ];
    expect(bounds(ranges, true)).toEqual(ranges);
  });
});
