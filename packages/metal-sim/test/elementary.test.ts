import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { missingTools } from '../tools/clang.mjs';
import { runtimeRoot } from '../tools/targets.mjs';
import { KernelRunner } from './kernel-runner.js';

// Errors of the kernels' own functions, which are the same on every GPU, over ranges of arguments, in units of the last place of the exact
// result.

const POINTS = 4096;
const header = ['kernels/metal_math.h', 'families/rope_table/metal_angle.h']
  .map((name) => readFileSync(path.join(runtimeRoot, name), 'utf8').replace('#pragma once', ''))
  .join('\n');

interface Sweep {
  name: string;
  call: string;
  exact: (x: number) => number;
  from: number;
  to: number;
  /** Largest error: in ulp, or absolute if results pass through zero. */
  ulp: number;
  absolute?: number;
}
const logistic = (x: number) => 1 / (1 + Math.exp(-x));
const sweeps: Sweep[] = [
  { name: 'exponential', call: 'exponential(x)', exact: Math.exp, from: -87, to: 88, ulp: 1.5 },
  { name: 'exponential near 0', call: 'exponential(x)', exact: Math.exp, from: -1, to: 1, ulp: 1.5 },
  { name: 'logarithm', call: 'logarithm(x)', exact: Math.log, from: 1.2e-38, to: 3e38, ulp: 1 },
  { name: 'logarithm near 1', call: 'logarithm(x)', exact: Math.log, from: 0.5, to: 2, ulp: 1 },
  { name: 'tangent', call: 'tangent(x)', exact: Math.tanh, from: -12, to: 12, ulp: 2 },
  { name: 'sigmoid', call: 'sigmoid(x)', exact: logistic, from: -80, to: 80, ulp: 3 },
  {
    name: 'gelu_tanh',
    call: 'gelu_tanh(x)',
    exact: (x) => x * logistic(2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)),
    from: -4,
    to: 6,
    ulp: 3,
    absolute: 1e-6,
  },
  {
    name: 'cosine',
    call: 'cosine_and_sine(x).x',
    exact: Math.cos,
    from: 0,
    to: 131072,
    ulp: 0,
    absolute: 1e-7,
  },
  {
    name: 'sine',
    call: 'cosine_and_sine(x).y',
    exact: Math.sin,
    from: 0,
    to: 131072,
    ulp: 0,
    absolute: 1e-7,
  },
];

describe.skipIf(missingTools() !== null)('elementary functions of the kernels', { timeout: 120_000 }, () => {
  let runner: KernelRunner;

  beforeAll(async () => {
    runner = await KernelRunner.build();
  });

  /** The bits of float32 numbers of one sign are ordered, so arguments are spread evenly over values or over bit patterns. */
  function argument({ from, to }: Sweep, i: number): number {
    const isWide = from > 0 && to / from > 1e6;
    const fraction = (i + 0.37) / POINTS;
    return Math.fround(isWide ? from * (to / from) ** fraction : from + (to - from) * fraction);
  }

  it.each(sweeps)('$name', (sweep) => {
    const bits = Array.from(
      { length: POINTS },
      (_, i) => `${new Uint32Array(Float32Array.of(argument(sweep, i)).buffer)[0]}u`,
    );
    // Numbers are printed with six digits: the halves of a result's bits are returned as integers.
    const source = `${header}
      constant uint arguments[${POINTS}] = {${bits}};
      kernel void k(device float* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
        const float x = as_type<float>(arguments[i]);
        const uint bits = as_type<uint>(${sweep.call});
        out[2 * i] = float(bits >> 16);
        out[2 * i + 1] = float(bits & 0xffffu);
      }`;
    const halves = runner.run(source, { groups: POINTS / 64, threads: 64, elements: 2 * POINTS });
    if (typeof halves === 'string') throw new Error(halves);
    let worst = 0;
    for (let i = 0; i < POINTS; i++) {
      const result = new Float32Array(Uint32Array.of(halves[2 * i]! * 65536 + halves[2 * i + 1]!).buffer)[0]!;
      const exact = sweep.exact(argument(sweep, i));
      const unit = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(exact))), -126) - 23);
      const allowed = Math.max(sweep.ulp * unit, sweep.absolute ?? 0);
      worst = Math.max(worst, Math.abs(result - exact) / allowed);
    }
    expect(worst).toBeLessThanOrEqual(1);
  });
});
