import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { checkKernel, prepareCheck } from '../tools/check.mjs';
import { missingTools } from '../tools/clang.mjs';
import { KernelRunner } from './kernel-runner.js';

const [M, N, K] = [16, 8, 4];

interface Product {
  /** The arguments after the three sizes of the descriptor. */
  options: string;
  simdgroups?: number;
  /** Statements before the multiplication. */
  before?: string;
  sizes?: string;
}

/** out[16, 8] += left [16, 4] · right [4, 8], twice; both operands contain the numbers 0, 1, 2, ... */
function source({ options, simdgroups = 2, before = '', sizes = `${M}, ${N}, ${K}` }: Product): string {
  return `#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
kernel void k(device const float* in [[buffer(0)]], device float* out [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint t [[thread_index_in_threadgroup]]) {
  threadgroup bfloat a[${M * K}], b[${N * K}];
  threadgroup float c[${M * N}];
  a[t] = bfloat(in[t]);
  if (t < ${N * K}) b[t] = bfloat(in[t]);
  ${before}
  using Operand = tensor<threadgroup bfloat, dextents<int32_t, 2>, tensor_inline>;
  using Product = tensor<threadgroup float, dextents<int32_t, 2>, tensor_inline>;
  constexpr auto descriptor = mpp::tensor_ops::matmul2d_descriptor(${sizes}, ${options});
  mpp::tensor_ops::matmul2d<descriptor, execution_simdgroups<${simdgroups}>> multiply;
  Operand left(a, dextents<int32_t, 2>(${options.startsWith('true') ? `${M}, ${K}` : `${K}, ${M}`}));
  Operand right(b, dextents<int32_t, 2>(${/^\w+, true/.test(options) ? `${K}, ${N}` : `${N}, ${K}`}));
  Product product(c, dextents<int32_t, 2>(${N}, ${M}));
  auto sums = multiply.get_destination_cooperative_tensor<Operand, Operand, float>();
  for (uint16_t i = 0; i < sums.get_capacity(); ++i) sums[i] = 1.0f;
  multiply.run(left, right, sums);
  multiply.run(left, right, sums);
  sums.store(product);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = c[t];
  out[t + 64] = c[t + 64];
}`;
}

const BARRIER = 'threadgroup_barrier(mem_flags::mem_threadgroup);';
const ACCUMULATE = 'mpp::tensor_ops::matmul2d_descriptor::mode::multiply_accumulate';

/** The product of the two operands. */
function expected(isLeftTransposed: boolean, isRightTransposed: boolean, accumulates: boolean): number[] {
  return Array.from({ length: M * N }, (_, at) => {
    const [m, n] = [Math.floor(at / N), at % N];
    let sum = 0;
    for (let k = 0; k < K; k++) {
      const left = isLeftTransposed ? k * M + m : m * K + k;
      sum += left * (isRightTransposed ? n * K + k : k * N + n);
    }
    return accumulates ? 1 + 2 * sum : sum;
  });
}

describe.skipIf(missingTools() !== null)('tensor operations', { timeout: 120_000 }, () => {
  let runner: KernelRunner;
  let folder = '';
  beforeAll(async () => {
    folder = temporaryFolder();
    runner = await KernelRunner.build();
    await prepareCheck();
  }, 300_000);

  const run = (product: Product, env: Record<string, string> = {}) =>
    runner.run(source(product), { elements: M * N, env: { METAL_SIM_MACOS: '26', ...env } });

  it.each([
    [false, true, true],
    [false, false, true],
    [true, true, false],
    [true, false, true],
  ])('multiply, transposed %s and %s, accumulating %s', (isLeft, isRight, accumulates) => {
    const mode = accumulates ? `, false, ${ACCUMULATE}` : '';
    const product = { options: `${isLeft}, ${isRight}${mode}`, before: BARRIER };
    const environments: Record<string, string>[] = [{ METAL_SIM_CHECK: '1' }, { METAL_SIM_ORDER: 'reverse' }];
    for (const env of environments) {
      expect(run(product, env)).toEqual(expected(isLeft, isRight, accumulates));
    }
  });

  it('need a preceding barrier', () => {
    expect(run({ options: 'false, true' }, { METAL_SIM_CHECK: '1' })).toMatch(/k: race: /);
  });

  it('must be executed by all threads, and only by the declared number of simdgroups', () => {
    expect(run({ options: 'false, true', simdgroups: 4, before: BARRIER })).toMatch(
      /matmul2d: its scope is not the whole threadgroup/,
    );
    expect(run({ options: 'false, true', before: `${BARRIER} if (t == 5) return;` })).toMatch(/early return/);
  });

  it('require a constant depth, and a multiple of 16 rows or columns', () => {
    const sizes = [`${M}, ${N}, -1`, `8, ${N}, ${K}`];
    for (const text of sizes) {
      expect(run({ options: 'false, true', before: BARRIER, sizes: text })).toMatch(/matmul2d: /);
    }
  });

  it('exist since macOS 26', () => {
    expect(run({ options: 'false, true', before: BARRIER }, { METAL_SIM_MACOS: '15' })).toMatch(
      /needs macOS 26/,
    );
  });

  it('are declared for msl-check', () => {
    const check = (text: string) => {
      const file = path.join(folder, 'kernel.metal');
      writeFileSync(file, `#include <metal_stdlib>\nusing namespace metal;\n${text}\n`);
      return checkKernel(file);
    };
    const good = source({ options: `false, true, false, ${ACCUMULATE}`, before: BARRIER });
    expect(check(good)).toBeNull();
    expect(check(good.replace('Operand left(a,', 'Operand left(out,'))).toMatch(/no matching constructor/);
    expect(check(good.replace(`${M}, ${N}, ${K}, false`, `8, ${N}, ${K}, false`))).toMatch(/multiple of 16/);
    expect(check(good.replace('#include <metal_tensor>', ''))).toMatch(/need Metal 4.0/);
  });
});
