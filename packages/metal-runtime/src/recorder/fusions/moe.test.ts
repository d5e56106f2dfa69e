import { describe, expect, it } from 'vitest';
import type { Routing } from '../../../families/moe_route/node.js';
import type { Axis } from '../../axes.js';
import type { DeviceBuffer } from '../../device-buffer.js';
import type { Value } from '../../value.js';
import type { ExpertMatrix, Vector } from '../../weights.js';
import type { Graph } from '../graph.js';
import { createRecorder, type Recorder } from '../recorder.js';
import { fuse } from './index.js';

const D = 64;
const F = 32;
const EXPERTS = 4;

const buffer: DeviceBuffer = { sizeBytes: 4, dispose() {}, [Symbol.dispose]() {} };
const vector = <A extends Axis>(length: number): Vector<A> => ({ length, dtype: 'F32', data: buffer });

function experts<Out extends Axis, In extends Axis>(rows: number, columns: number): ExpertMatrix<Out, In> {
  return {
    expertCount: EXPERTS,
    rows,
    columns,
    rowsPerExpert: rows,
    firstRow: 0,
    stored: { kind: 'plain', dtype: 'F32', rows: EXPERTS * rows, columns, weight: buffer },
  };
}

interface Recorded {
  readonly graph: Graph;
  readonly recorder: Recorder;
  readonly routing: Routing<'T'>;
  readonly x: Value<'T', 'D'>;
}

/** Records norm, routing, gate and up, down and their sum; `before` records between routing and experts. */
function record(before?: (recorded: Recorded) => void): Graph {
  const recorder = createRecorder({ maxRows: 8, maxOutputs: 0, upload: () => buffer });
  const logits = recorder.input('logits', 'T', { axis: 'E', size: EXPERTS });
  const routing = recorder.moeRoute(logits, vector<'E'>(EXPERTS), { topK: 2, scale: 1 });
  const x = recorder.rmsNorm(recorder.input('h', 'T', { axis: 'D', size: D }), vector<'D'>(D), { eps: 1e-6 });
  before?.({ graph: recorder.graph, recorder, routing, x });
  const gate = recorder.moeLinear(x, experts<'F', 'D'>(F, D), routing);
  const gated = recorder.geglu(gate, recorder.moeLinear(x, experts<'F', 'D'>(F, D), routing));
  recorder.output(
    'y',
    recorder.moeCombine(recorder.moeLinear(gated, experts<'D', 'F'>(D, F), routing), routing),
  );
  return recorder.graph;
}

function fused(graph: Graph, without: readonly string[] = []): string[] {
  fuse(graph, { without });
  return graph.nodes.map((node) =>
    node.kind === 'moeLinear' ? `moeLinear.${node.epilogue.kind}` : node.kind,
  );
}

describe('the fusions of a mixture of experts', () => {
  it('leave two commands, the first of which chooses the experts', () => {
    const graph = record();
    expect(fused(graph)).toEqual(['moeLinear.geglu', 'moeLinear.combine']);
    expect(graph.nodes[0]).toMatchObject({ routing: { topK: 2 }, norm: { eps: 1e-6 } });
    expect(graph.nodes[1]).toMatchObject({ routing: null, hasSlices: true });
  });

  it('can be switched off one by one', () => {
    expect(fused(record(), ['moe-route'])).toEqual(['moeRoute', 'moeLinear.geglu', 'moeLinear.combine']);
    expect(fused(record(), ['moe-combine'])).toEqual(['moeLinear.geglu', 'moeLinear.store', 'moeCombine']);
    expect(fused(record(), ['geglu', 'moe-route', 'moe-combine'])).toEqual([
      'moeRoute',
      'rmsNorm',
      'moeLinear.store',
      'moeLinear.store',
      'elementwise',
      'moeLinear.store',
      'moeCombine',
    ]);
  });

  it('keep the routing if a node reads it before the experts', () => {
    const graph = record(({ recorder, routing }) => {
      const other = recorder.input('other', 'T', { axis: 'XD', size: 2 * D });
      recorder.output('z', recorder.moeCombine(other, routing));
    });
    expect(fused(graph)).toEqual(['moeRoute', 'moeCombine', 'moeLinear.geglu', 'moeLinear.combine']);
  });

  it('keep a norm that another node reads', () => {
    const graph = record(({ recorder, x }) => recorder.output('normed', x));
    expect(fused(graph)).toEqual(['rmsNorm', 'moeLinear.geglu', 'moeLinear.combine']);
  });
});

describe('recording a mixture of experts', () => {
  it('rejects a choice of more experts than exist', () => {
    const recorder = createRecorder({ maxRows: 8, maxOutputs: 0, upload: () => buffer });
    const logits = recorder.input('logits', 'T', { axis: 'E', size: EXPERTS });
    for (const topK of [0, 1.5, EXPERTS + 1]) {
      expect(() => recorder.moeRoute(logits, vector<'E'>(EXPERTS), { topK, scale: 1 })).toThrow(
        'moeRoute: topK: expected 1 to 4 experts',
      );
    }
    expect(() => recorder.moeRoute(logits, vector<'E'>(3), { topK: 1, scale: 1 })).toThrow(
      'moeRoute: logits',
    );
  });

  it('rejects rows of experts outside their matrix, and rows of another width', () => {
    record(({ recorder, routing, x }) => {
      const matrix = experts<'F', 'D'>(F, D);
      expect(() => recorder.moeLinear(x, { ...matrix, firstRow: 1 }, routing)).toThrow('moeLinear: weight');
      expect(() => recorder.moeLinear(x, { ...matrix, expertCount: 5 }, routing)).toThrow(
        'moeLinear: weight',
      );
      expect(() => recorder.moeLinear(x, experts<'F', 'D'>(F, D - 1), routing)).toThrow('moeLinear: x');
    });
  });
});
