import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { checkKernel, metalFiles, prepareCheck } from '../tools/check.mjs';
import { missingTools } from '../tools/clang.mjs';
import { packageRoot } from '../tools/targets.mjs';
import { badSamples } from './bad-samples.js';

describe.skipIf(missingTools() !== null)('msl-check', { timeout: 120_000 }, () => {
  let folder = '';

  beforeAll(async () => {
    await prepareCheck();
    folder = temporaryFolder();
  });
  function check(source: string): string | null {
    const file = path.join(folder, 'sample.metal');
    writeFileSync(file, `#include <metal_stdlib>\nusing namespace metal;\n${source}\n`);
    return checkKernel(file);
  }

  it.each(badSamples)('rejects: $name', ({ source, reason }) => {
    expect(check(source)).toMatch(reason);
  });

  it('accepts the valid code that these samples are derived from', () => {
    expect(
      check(`kernel void k(device float* out [[buffer(0)]], device const float* in [[buffer(1)]],
        constant int& n [[buffer(2)]], threadgroup float* shared [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
        threadgroup float local[4];
        if (i < 4) local[i] = min(in[i], 1.0f);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float4 v = float4(in[0], float2(1.0f), 2.0f);
        shared[0] = simd_sum(v.x);
        out[i] = local[0] + float(max(int(i), n)) + float4(half4(v)).w;
      }`),
    ).toBeNull();
  });

  it('has at least 30 samples', () => expect(badSamples.length).toBeGreaterThanOrEqual(30));

  it.each([...metalFiles(), path.join(packageRoot, 'sample/sum.metal')])('accepts %s', (file) => {
    expect(checkKernel(file)).toBeNull();
  });
});
