import { describe, expect, it } from 'vitest';
import { allKernels, findBarriers, kernelOf, kernelsOf, readKernels } from '../tools/barriers.mjs';
import { chooseSample, runsThatReach, systemThatReaches } from '../tools/mutation-plan.mjs';
import { randomFrom } from '../tools/random.mjs';

const SHARED = `template <typename T>
inline T meet(T value) {
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return value;
}

struct Pair {
  float a, b;
};

inline float meet_twice(float value) {
  return meet<float>(meet<float>(value));
}
`;
const SUM = `#include "shared.h"
kernel void sum(uint i [[thread_position_in_grid]]) {
  // threadgroup_barrier(mem_flags::mem_threadgroup);
  // No test can miss this barrier: it orders what
  // the simulator orders anyway.
  simdgroup_barrier(mem_flags::mem_none);
}

template <typename T>
kernel void sum_rows(uint i [[thread_position_in_grid]]) {
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst);
  meet_twice(1.0f);
}
`;
const sources = new Map([
  ['plain.metal', 'kernel void plain() {}\n'],
  ['shared.h', SHARED],
  ['sum.metal', SUM],
]);

describe('barriers of kernels', () => {
  it('are found, with the reason in the comment above them', () => {
    expect(findBarriers(sources)).toEqual([
      {
        file: 'shared.h',
        line: 3,
        text: 'threadgroup_barrier(mem_flags::mem_threadgroup);',
        explanation: null,
      },
      {
        file: 'sum.metal',
        line: 6,
        text: 'simdgroup_barrier(mem_flags::mem_none);',
        explanation: 'it orders what the simulator orders anyway.',
      },
      {
        file: 'sum.metal',
        line: 11,
        text: 'atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst);',
        explanation: null,
      },
    ]);
  });

  it('belong to the kernel that contains them, or to the kernels that call the function', () => {
    expect(kernelsOf(sources, { file: 'sum.metal', line: 6 })).toEqual(['sum']);
    expect(kernelsOf(sources, { file: 'sum.metal', line: 11 })).toEqual(['sum_rows']);
    expect(kernelsOf(sources, { file: 'shared.h', line: 3 })).toEqual(['sum_rows']);
  });

  it('are reached by launches of instances of these kernels', () => {
    const kernels = allKernels(sources);
    expect(kernels).toEqual(['plain', 'sum', 'sum_rows']);
    expect(kernelOf(kernels, 'sum_rows_bf16')).toBe('sum_rows');
    expect(kernelOf(kernels, 'sum_bf16')).toBe('sum');
    expect(kernelOf(kernels, 'product')).toBeUndefined();
  });

  it('of metal-runtime are all in some kernel', () => {
    const kernels = readKernels();
    for (const barrier of findBarriers(kernels)) expect(kernelsOf(kernels, barrier)).not.toEqual([]);
  });
});

describe('runs for a mutant', () => {
  it('launch a kernel with the barrier, the cheapest of each set of kernels first', () => {
    const planned = [
      { name: 'large', cost: 9, launches: ['plain', 'sum_f32'] },
      { name: 'other', cost: 1, launches: ['plain', 'sum_rows_f32'] },
      { name: 'small', cost: 2, launches: ['sum_bf16'] },
      { name: 'again', cost: 3, launches: ['sum_bf16'] },
    ];
    const names = runsThatReach(sources, { file: 'sum.metal', line: 6 }, planned).map(({ name }) => name);
    expect(names).toEqual(['small', 'large', 'again']);
  });

  it('launch the kernel that a newer system substitutes for a planned one', () => {
    const tensor = `kernel void linear_tensor() {\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n}\n`;
    const both = new Map([
      ['linear_tensor.metal', tensor],
      ['linear_tile.metal', tensor.replace('_tensor', '_tile')],
    ]);
    const planned = [
      { cost: 1, launches: ['linear_row_q4'] },
      { cost: 2, launches: ['linear_tile_q4'] },
    ];
    for (const [file, system] of Object.entries({ 'linear_tensor.metal': '26', 'linear_tile.metal': '15' })) {
      expect(runsThatReach(both, { file, line: 2 }, planned)).toEqual([planned[1]]);
      expect(systemThatReaches(both, { file, line: 2 })).toBe(system);
    }
  });
});

describe('a sample', () => {
  const all = Array.from({ length: 47 }, (_, i) => i);

  it('has the requested share, in order, and is the same for a seed', () => {
    const chosen = chooseSample(all, 0.1, randomFrom(7));
    expect(chosen).toHaveLength(5);
    expect(chosen).toEqual([...new Set(chosen)].sort((a, b) => a - b));
    expect(chooseSample(all, 0.1, randomFrom(7))).toEqual(chosen);
    expect(chooseSample(all, 0.1, randomFrom(8))).not.toEqual(chosen);
  });

  it('is never empty, and is the whole list for a share of 1', () => {
    expect(chooseSample(all, 0.001, randomFrom(1))).toHaveLength(1);
    expect(chooseSample(all, 1, randomFrom(1))).toEqual(all);
    expect(chooseSample([], 1, randomFrom(1))).toEqual([]);
  });
});
