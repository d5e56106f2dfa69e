import { ShapeMismatchError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import type { Matrix, Vector } from '../weights.js';
import { matrixOperands } from './family.js';
import { createRecorder } from './recorder.js';

const buffer = { sizeBytes: 4, dispose() {}, [Symbol.dispose]() {} };
const recorder = () => createRecorder({ maxRows: 2, maxOutputs: 1, upload: () => buffer });
const weight: Matrix<'F', 'D'> = { kind: 'plain', dtype: 'F32', rows: 8, columns: 6, weight: buffer };
const gain: Vector<'D'> = { length: 5, dtype: 'F32', data: buffer };

describe('Recorder', () => {
  it('rejects a weight of another width and states both widths', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'D', size: 4 });
    expect(() => ops.linear(x, weight)).toThrow('linear: weight is [8, 6], expected [*, 4]');
    expect(() => ops.rmsNorm(x, gain, { eps: 1e-6 })).toThrow(ShapeMismatchError);
  });

  it('rejects small floats that are not whole blocks, or have too few scales', () => {
    const bytes = (sizeBytes: number) => ({ ...buffer, sizeBytes });
    const encode = (columns: number, scaleBytes: number) => {
      const shape = { rows: 8, columns, weight: bytes(4 * columns) };
      return matrixOperands({ kind: 'nvfp4', ...shape, scales: bytes(scaleBytes) });
    };
    expect(encode(64, 32)).toHaveLength(3);
    expect(() => encode(48, 24)).toThrow('a multiple of 32 columns in nvfp4');
    expect(() => encode(64, 31)).toThrow('32 bytes for its shape');
  });

  it('does not compile with a matrix of other axes', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'F', size: 6 });
    // @ts-expect-error the rows have axis F, the weight takes D
    ops.linear(x, weight);
    const n = ops.input('n', 'N', { axis: 'F', size: 6 });
    // @ts-expect-error rows T and N cannot be added
    expect(() => ops.add(x, n)).toThrow('add: second operand is [N, 6], expected [T, 6]');
  });

  it('rejects columns outside a value', () => {
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

  it('rejects a duplicate name', () => {
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

  it('rejects sounds that do not match their kernels', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'M', size: 24 });
    const mask = ops.input('mask', 'T', { axis: 'M', size: 4 });
    const kernel = { inChannels: 5, outChannels: 2, data: buffer };
    expect(() => ops.conv2d(x, kernel, { times: 3, mask })).toThrow('an even number of time steps');
    expect(() => ops.conv2d(x, kernel, { times: 4, mask })).toThrow('frequencies · 5 channels');
    const odd = ops.conv2d(x, { ...kernel, inChannels: 2 }, { times: 4, mask });
    // 3 frequencies become 2, of 2 channels each, at 2 times.
    expect(odd.width).toBe(8);
    expect(() => ops.causalConv(odd, { taps: 5, channels: 4, data: buffer })).toThrow('causalConv: x');
  });

  it('rejects attention with more visible positions than keys', () => {
    const ops = recorder();
    const q = ops.input('q', 'T', { axis: 'HK', size: 6 });
    const queryScale = { length: 3, dtype: 'F32', data: buffer } as const;
    const relativeKeys = { distances: 13, width: 6, data: buffer };
    const options = { heads: 2, reach: 12, cap: 50, keyScale: 1, queryScale, relativeKeys };
    expect(ops.localAttention(q, q, q, options).width).toBe(6);
    expect(() => ops.localAttention(q, q, q, { ...options, reach: 14 })).toThrow('1 to 13 keys');
    expect(() => ops.localAttention(q, q, q, { ...options, cap: 0 })).toThrow('a number > 0');
    expect(() => ops.localAttention(q, q, q, { ...options, heads: 3 })).toThrow('queryScale');
    const stored = { ...queryScale, dtype: 'BF16' } as const;
    expect(() => ops.localAttention(q, q, q, { ...options, queryScale: stored })).toThrow('F32 [3]');
  });

  it('includes the scopes in labels', () => {
    const ops = recorder();
    const x = ops.input('x', 'T', { axis: 'D', size: 4 });
    ops.scope('layer 3', () => ops.scope('mlp', () => ops.scale(x, 2)));
    expect(ops.graph.nodes.map((node) => node.label)).toEqual(['layer 3 / mlp / scale']);
  });
});
