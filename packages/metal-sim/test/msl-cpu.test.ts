import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { missingTools } from '../tools/clang.mjs';
import { KernelRunner, type Launch } from './kernel-runner.js';

const PARAMETERS = `device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
  constant uint& n [[buffer(2)]], threadgroup float* shared [[threadgroup(0)]], uint i [[thread_position_in_grid]],
  uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]`;
/** The statements begin in line 5 of the file. */
const kernel = (statements: string) =>
  `kernel void k(\n${PARAMETERS.replaceAll('\n', ' ')}) {\n${statements}\n}`;
const ORDERS = ['forward', 'reverse', 'random:7'];

const runs: { name: string; source: string; launch?: Launch; expected: (i: number) => number }[] = [
  { name: 'a plain kernel', source: kernel('out[i] = in[i] * 2.0;'), expected: (i) => 2 * i },
  { name: 'simd_sum', source: kernel('out[i] = simd_sum(in[i]);'), expected: (i) => (i < 32 ? 496 : 1520) },
  {
    name: 'simd_max of an edge simdgroup',
    source: kernel('out[i] = simd_max(in[i]);'),
    launch: { threads: 40, elements: 40 },
    expected: (i) => (i < 32 ? 31 : 39),
  },
  {
    name: 'simd_shuffle_xor',
    source: kernel('out[i] = simd_shuffle_xor(in[i], 1);'),
    expected: (i) => i ^ 1,
  },
  {
    name: 'simd_shuffle_down',
    source: kernel('out[i] = simd_shuffle_down(in[i], 4);'),
    expected: (i) => (i % 32 < 28 ? i + 4 : i),
  },
  {
    name: 'simd_broadcast',
    source: kernel('out[i] = simd_broadcast(in[i], 5);'),
    expected: (i) => (i & 32) + 5,
  },
  {
    name: 'simd_prefix_exclusive_sum',
    source: kernel('out[i] = simd_prefix_exclusive_sum(1.0f);'),
    expected: (i) => i % 32,
  },
  {
    name: 'simd_ballot',
    source: kernel('out[i] = popcount(uint((ulong)simd_ballot(lane < 5)));'),
    expected: () => 5,
  },
  { name: 'quad_sum', source: kernel('out[i] = quad_sum(in[i]);'), expected: (i) => (i - (i % 4)) * 4 + 6 },
  {
    name: 'threadgroup memory after a barrier',
    source: kernel(
      'threadgroup float x[64]; x[t] = in[i]; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = x[63 - t];',
    ),
    expected: (i) => 63 - i,
  },
  {
    name: 'a write after lanes of the simdgroup have read',
    source: kernel(
      'shared[t] = in[i]; simdgroup_barrier(mem_flags::mem_threadgroup); const float x = shared[t / 32 * 32 + t % 16];\n' +
        'simdgroup_barrier(mem_flags::mem_threadgroup); shared[t] = x; out[i] = shared[t];',
    ),
    expected: (i) => i - (i % 32) + (i % 16),
  },
  {
    name: 'threadgroup memory as an argument',
    source: kernel(
      'shared[t] = in[i]; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = shared[t ^ 1];',
    ),
    expected: (i) => i ^ 1,
  },
  {
    name: 'a simdgroup barrier',
    source: kernel(
      'shared[t] = in[i]; simdgroup_barrier(mem_flags::mem_threadgroup); out[i] = shared[t ^ 1];',
    ),
    expected: (i) => i ^ 1,
  },
  {
    name: 'half and bfloat, rounded after every operation',
    source: kernel(
      'half h = half(in[i]) + 2048.0h; bfloat b = bfloat(in[i]) + bfloat(256.0f); out[i] = float(h) - 2048 + (float(b) - 256) * 1000;',
    ),
    launch: { elements: 4, threads: 4 },
    expected: (i) => [0, 0, 2 + 2000, 4 + 4000][i]!,
  },
  {
    name: 'vectors and swizzles',
    source: kernel(
      'float4 v = float4(in[i], float2(1, 2), 3); v.xy = v.zw; int4 k = int4(v); half4 h = half4(v); out[i] = dot(v, float4(k)) + float(h.w);',
    ),
    expected: () => 2 * 2 + 9 + 4 + 9 + 3,
  },
  {
    name: 'vector templates',
    source: `template <typename T> T four(float x) { return T(x, x, x, x); }\n${kernel('vec<float, 4> v = four<vec<float, 4>>(in[i]) + vec<float, 4>(1.0); out[i] = v.w;')}`,
    expected: (i) => i + 1,
  },
  { name: 'as_type', source: kernel('out[i] = as_type<float>(as_type<uint>(in[i]));'), expected: (i) => i },
  {
    name: 'atomics',
    source: kernel(
      'threadgroup atomic_uint c; if (t == 0) atomic_store_explicit(&c, 0u, memory_order_relaxed); threadgroup_barrier(mem_flags::mem_threadgroup); atomic_fetch_add_explicit(&c, 1u, memory_order_relaxed); threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = atomic_load_explicit(&c, memory_order_relaxed);',
    ),
    expected: () => 64,
  },
  {
    name: 'function constants, and constants derived from them',
    source: `constant int three [[function_constant(0)]];\nconstant int six = three * 2;\nconstant int none [[function_constant(1)]];\n${kernel('out[i] = six + (is_function_constant_defined(none) ? 100 : 0) + (is_function_constant_defined(three) ? 10 : 0);')}`,
    expected: () => 16,
  },
  {
    name: 'an instantiation with a host name',
    source: `template <typename T, int by> kernel void scale(device const T* in [[buffer(0)]], device T* out [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = in[i] * by; }\ntemplate [[host_name("k")]] [[kernel]] void scale<float, 3>(device const float*, device float*, uint);`,
    expected: (i) => 3 * i,
  },
  {
    name: 'simdgroup matrices',
    // out = in · in^T for the 8 × 8 matrix of 0, 1, 2, ...
    source: kernel(
      'simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(0.0f); simdgroup_load(a, in, 8); simdgroup_load(b, in, 8, ulong2(0, 0), true); simdgroup_multiply_accumulate(c, a, b, c); simdgroup_store(c, out, 8);',
    ),
    launch: { threads: 32 },
    expected: (i) => {
      const [row, column] = [Math.floor(i / 8), i % 8];
      return Array.from({ length: 8 }, (_, k) => (row * 8 + k) * (column * 8 + k)).reduce((a, b) => a + b);
    },
  },
  {
    name: 'elements of a simdgroup matrix, in the same lanes as on Apple GPUs',
    source: kernel(
      'simdgroup_float8x8 a; simdgroup_load(a, in, 8); out[2 * lane] = a.thread_elements()[0]; out[2 * lane + 1] = a.thread_elements()[1];',
    ),
    launch: { threads: 32 },
    expected: (i) => {
      const lane = i >> 1;
      const row = ((lane >> 2) & 4) + ((lane >> 1) & 3);
      return row * 8 + ((lane >> 2) & 2) * 2 + (lane & 1) * 2 + (i & 1);
    },
  },
];

const faults: {
  name: string;
  statements: string;
  launch?: Launch;
  env?: Record<string, string>;
  message: RegExp;
}[] = [
  {
    name: 'divergent barrier',
    statements:
      'if (t < 32) threadgroup_barrier(mem_flags::mem_none);\nelse threadgroup_barrier(mem_flags::mem_none);',
    message:
      /k: divergent barrier: thread \d+ waits in line [56], thread \d+ in line [56] \(kernel:?.*thread|k: divergent barrier/,
  },
  {
    name: 'divergent simdgroup operation',
    statements: 'if (lane < 9) out[i] = simd_sum(1.0f);\nelse out[i] = simd_max(1.0f);',
    message: /k: divergent simdgroup operation: lane \d+ waits in simd_(sum|max), line [56]/,
  },
  {
    name: 'barrier in one branch only',
    statements: 'if (t < 10) threadgroup_barrier(mem_flags::mem_none); out[i] = simd_sum(1.0f);',
    message: /k: divergence: \d+ threads wait in simd_sum in line 5, 10 in threadgroup_barrier in line 5/,
  },
  {
    name: 'early return before a barrier',
    statements: 'if (i >= n - 3) return;\nthreadgroup_barrier(mem_flags::mem_none);',
    message: /k: early return: 3 of 64 threads have ended, 61 wait in threadgroup_barrier in line 6/,
  },
  {
    name: 'early return before a simdgroup operation',
    statements: 'if (lane == 7) return;\nout[i] = simd_sum(1.0f);',
    message: /k: early return: 2 of 64 .* simd_sum in line 6/,
  },
  {
    name: 'polling a value that never changes',
    statements:
      'threadgroup atomic_uint c; if (t == 0) atomic_store_explicit(&c, 0u, memory_order_relaxed);\nwhile (atomic_load_explicit(&c, memory_order_relaxed) == 0) {}',
    env: { METAL_SIM_TIMEOUT: '0.3' },
    message: /k: no progress: atomics are polled.*line 6/,
  },
  {
    name: 'an endless loop',
    statements: 'volatile thread float x = 0;\nwhile (x < 1.0f) { x = x * 0.5f; }',
    env: { METAL_SIM_TIMEOUT: '0.3' },
    message: /k: no progress: the threadgroup runs .*:6, thread/,
  },
  {
    name: 'write past the end of a buffer',
    statements: 'out[0] = 1.0f;\nout[i + 64] = 1.0f;',
    message: /k: access to address 0x[0-9a-f]+, which no buffer has \(.*:6, thread 0,0,0/,
  },
  {
    name: 'read far before a buffer',
    statements: 'out[i] = in[int(i) - (1 << 28)];',
    message: /k: access to address/,
  },
  {
    name: 'overrun of a threadgroup array',
    statements: 'threadgroup float x[64];\nx[t + 64] = 1.0f; out[i] = x[t];',
    message: /k: access to address .*:6/,
  },
  {
    name: 'too much threadgroup memory',
    statements: 'threadgroup float x[9000]; x[t] = 1.0f; out[i] = x[t];',
    message: /k: x brings threadgroup memory to \d+ bytes, expected at most 32768 \(line 5/,
  },
  {
    name: 'stack overflow',
    statements:
      'float x[100000]; for (uint k = 0; k < 100000; ++k) x[k] = in[k % n];\nout[i] = x[uint(in[3]) + i];',
    message: /k: stack overflow/,
  },
  {
    name: 'division by zero',
    statements: 'out[i] = float(int(n) / int(in[0]));',
    launch: { threads: 1 },
    message: /k: integer division by zero/,
  },
  // With checks
  {
    name: 'read just past the end of a buffer',
    statements: 'out[i] = in[i + 1];',
    env: { METAL_SIM_CHECK: '1' },
    message: /k: read of 4 bytes, 4 bytes after the end of in at index 0 \(256 bytes\) .*:5, thread 63,0,0/,
  },
  {
    name: 'write to an input',
    statements: '((device float*)in)[i] = 1.0f; out[i] = 1.0f;',
    env: { METAL_SIM_CHECK: '1' },
    message: /k: write of 4 bytes at in at index 0 \+ 0, which is read-only/,
  },
  {
    name: 'race in threadgroup memory',
    statements: 'shared[t] = 1.0f; out[i] = shared[t ^ 32];',
    env: { METAL_SIM_CHECK: '1' },
    message:
      /k: race: (reads|writes) threadgroup argument \+ \d+, which thread \d+ (wrote|read), without a barrier/,
  },
  {
    name: 'race within a simdgroup',
    statements: 'shared[t] = 1.0f; out[i] = simd_sum(shared[t ^ 1]);',
    env: { METAL_SIM_CHECK: '1' },
    message: /k: race: /,
  },
  {
    name: 'barrier that does not name the memory',
    statements: 'shared[t] = 1.0f; threadgroup_barrier(mem_flags::mem_device); out[i] = shared[t ^ 32];',
    env: { METAL_SIM_CHECK: '1' },
    message: /k: race: /,
  },
  {
    name: 'write after read without a barrier',
    statements: 'threadgroup float x; x = 1.0f;',
    env: { METAL_SIM_CHECK: '1' },
    message: /k: race: writes x \+ 0, which thread \d+ wrote/,
  },
  {
    name: 'write after two simdgroups read, with a barrier of only one',
    statements:
      'shared[t] = 1.0f; threadgroup_barrier(mem_flags::mem_threadgroup); const float x = shared[t % 32];\n' +
      'simdgroup_barrier(mem_flags::mem_threadgroup); shared[t] = x; out[i] = x;',
    env: { METAL_SIM_CHECK: '1' },
    message: /k: race: writes threadgroup argument \+ \d+, which thread \d+ read, without a barrier/,
  },
  {
    name: 'race between threadgroups',
    statements: 'out[t] = in[t];',
    launch: { groups: 2, threads: 32 },
    env: { METAL_SIM_CHECK: '1' },
    message: /k: race: writes out at index 1 \+ 0, which thread 0 of another threadgroup \(0\) wrote/,
  },
  {
    name: 'unwritten output',
    statements: 'if (n == 0) out[i] = 1.0f;',
    env: { METAL_SIM_CHECK: '1', METAL_SIM_OUTPUTS: '1' },
    message: /k: unwritten output: nothing was written to out at index 1/,
  },
];

const compileErrors: { name: string; source: string; message: RegExp }[] = [
  {
    name: 'a syntax error',
    source: kernel('out[i] = in[i] +;'),
    message: /program_source:5:\d+: error: expected expression/,
  },
  {
    name: 'an index used twice',
    source: 'kernel void k(device float* a [[buffer(0)]], device float* b [[buffer(0)]]) {}',
    message: /program_source:3: error: kernel k: two parameters have index 0/,
  },
  {
    name: 'a parameter without an attribute',
    source: 'kernel void k(device float* a) {}',
    message: /parameter a has no supported attribute/,
  },
  { name: 'a mixed min', source: kernel('out[i] = min(i, 3);'), message: /ambiguous/ },
];

describe.skipIf(missingTools() !== null)('msl-cpu', { timeout: 120_000 }, () => {
  let runner: KernelRunner;
  beforeAll(async () => {
    runner = await KernelRunner.build();
  }, 300_000);

  it.each(runs)('runs $name', ({ source, launch, expected }) => {
    const elements = launch?.elements ?? 64;
    const wanted = Array.from({ length: elements }, (_, i) => expected(i));
    for (const order of ORDERS) {
      for (const check of ['0', '1']) {
        const env = { METAL_SIM_ORDER: order, METAL_SIM_CHECK: check };
        expect(runner.run(source, { ...launch, env }), `${order}, checks ${check}`).toEqual(wanted);
      }
    }
  });

  it.each(faults)('reports $name', ({ statements, launch, env, message }) => {
    for (const order of ORDERS.slice(0, 2)) {
      const received = runner.run(kernel(statements), { ...launch, env: { ...env, METAL_SIM_ORDER: order } });
      if (order === 'forward') expect(received).toMatch(message);
      // Another thread may be the first to detect it; whether it is detected does not depend on the order.
      else expect(received).toMatch(/^k: /);
    }
  });

  it.each(compileErrors)('rejects $name', ({ source, message }) => {
    expect(runner.run(source)).toMatch(message);
  });

  it('assumes the absence of infinities only with fast mathematics', () => {
    const source = kernel('float x = in[i] - INFINITY; out[i] = isinf(x) ? 1.0f : 0.0f;');
    expect(runner.run(source)).toEqual(Array.from({ length: 64 }, () => 1));
    expect(runner.run(source, { isFast: true })).toEqual(Array.from({ length: 64 }, () => 0));
  });

  it('finds a missing barrier that one order of lanes hides', () => {
    const source = kernel('shared[t] = in[i]; out[i] = shared[t / 32 * 32];');
    const plain = runner.run(source, { env: { METAL_SIM_ORDER: 'forward' } });
    expect(plain).toEqual(Array.from({ length: 64 }, (_, i) => i & 32));
    expect(runner.run(source, { env: { METAL_SIM_ORDER: 'reverse' } })).not.toEqual(plain);
    expect(runner.run(source, { env: { METAL_SIM_CHECK: '1' } })).toMatch(/race/);
  });

  it.each(['threadgroup_barrier', 'simdgroup_barrier'])('leaves out a %s on request', (barrier) => {
    const source = kernel(
      `shared[t] = in[i];\n${barrier}(mem_flags::mem_threadgroup);\nout[i] = shared[t ^ 1];`,
    );
    const without = (place: string) =>
      runner.run(source, { env: { METAL_SIM_CHECK: '1', METAL_SIM_MUTATE: place } });
    expect(without('program_source:6')).toMatch(/k: race: /);
    const complete = Array.from({ length: 64 }, (_, i) => i ^ 1);
    for (const place of ['program_source:5', 'other.h:6', 'program_source', '']) {
      expect(without(place), place).toEqual(complete);
    }
  });

  it('reports launches, and counts simultaneous loads of a simdgroup once', () => {
    const report = path.join(temporaryFolder(), 'report');
    const env = { METAL_SIM_CHECK: '1', METAL_SIM_REPORT: report };
    // Every simdgroup loads the first number once; the loop loads each number twice.
    const source = kernel('float x = in[0]; for (uint j = 0; j < 2; ++j) x += in[(i ^ j) % n]; out[i] = x;');
    expect(runner.run(source, { groups: 2, threads: 64, elements: 128, env })).toHaveLength(128);
    const line = JSON.parse(readFileSync(report, 'utf8'));
    expect(line).toMatchObject({ encoders: 1, barriers: 0, reads: [{ buffer: '', bytes: 512 }] });
    expect(line.dispatches).toEqual([
      {
        ...{ kernel: 'k', groups: [2, 1, 1], threads: 64, hasBarrier: false },
        loads: [{ argument: 'in at index 0', buffer: '', bytes: 4 * 4 + 2 * 512 }],
      },
    ]);
  });
});
