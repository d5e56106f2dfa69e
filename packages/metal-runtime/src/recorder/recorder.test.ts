import { ShapeMismatchError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import type { Matrix, Vector } from '../weights.js';
import { Recorder } from './recorder.js';

const buffer = { sizeBytes: 4, dispose() {}, [Symbol.dispose]() {} };
const recorder = () => new Recorder({ maxRows: 2, maxOutputs: 1, upload: () => buffer });
const weight: Matrix<'F', 'D'> = { kind: 'plain', dtype: 'F32', rows: 8, columns: 6, weight: buffer };
const gain: Vector<'D'> = { length: 5, dtype: 'F32', data: buffer };

describe('Recorder', () => {
  it('refuses a weight of another width and says both', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'D', size: 4 });
    expect(() => ops.linear(x, weight)).toThrow('linear: weight is [8, 6], expected [*, 4]');
    expect(() => ops.rmsNorm(x, gain, { eps: 1e-6 })).toThrow(ShapeMismatchError);
  });

  it('does not compile a matrix of other axes', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'F', size: 6 });
    // @ts-expect-error the rows have axis F, the weight takes D
    ops.linear(x, weight);
    const n = ops.input('n', 'N', { axis: 'F', size: 6 });
    // @ts-expect-error rows T and N do not add
    expect(() => ops.add(x, n)).toThrow('add: second operand is [N, 6], expected [T, 6]');
  });

  it('refuses columns outside of a value', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'LP', size: 4 });
    expect(() => ops.columns(x, { axis: 'P', begin: 3, width: 2 })).toThrow('[3, 5)');
  });

  it('takes a view of a view', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'LP', size: 8 });
    const outer = ops.columns(x, { axis: 'P', begin: 4, width: 4 });
    const inner = ops.columns(outer, { axis: 'P', begin: 1, width: 2 });
    expect(ops.graph.values[inner.id]!.view).toEqual({ base: x.id, offset: 5 });
  });

  it('refuses a name twice', () => {
    const ops = recorder();
    ops.input('x', 'T', { axis: 'D', size: 4 });
    expect(() => ops.input('x', 'T', { axis: 'D', size: 4 })).toThrow('input name');
  });

  it('inserts soft tokens only into a fresh embedding', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'D', size: 4 });
    const soft = ops.input('soft', 'S', { axis: 'D', size: 4, maxRows: 8 });
    expect(() => ops.insertSoftTokens(x, soft)).toThrow('insertSoftTokens: x');
  });

  it('puts the scopes into labels', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'D', size: 4 });
    ops.scope('layer 3', () => ops.scope('mlp', () => ops.scale(x, 2)));
    expect(ops.graph.nodes.map((node) => node.label)).toEqual(['layer 3 / mlp / scale']);
  });
});
