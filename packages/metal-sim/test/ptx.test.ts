import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { prepareCheck } from '../tools/check.mjs';
import { missingTools } from '../tools/clang.mjs';
import { compileToPtx, deviceSource } from '../tools/ptx.mjs';

describe.skipIf(missingTools() !== null)('Metal as PTX', { timeout: 120_000 }, () => {
  let folder = '';

  beforeAll(async () => {
    await prepareCheck();
    folder = temporaryFolder();
  });
  function rewrite(source: string) {
    const file = path.join(folder, 'sample.metal');
    writeFileSync(file, `#include <metal_stdlib>\nusing namespace metal;\n${source}\n`);
    return deviceSource(file);
  }

  /** The PTX of a kernel k with these statements. */
  function compile(statements: string, scope = '') {
    const parameters = `device float* out [[buffer(3)]], constant uint& n [[buffer(0)]], device const float* in [[buffer(1)]],
      device const uchar* bytes [[buffer(2)]], uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]`;
    return compileToPtx(
      rewrite(`${scope}\nkernel void k(${parameters}) {\n${statements}\n}`).source,
      'sm_80',
    );
  }

  it('takes buffers by ascending index, and values for references to constant memory', async () => {
    const { source, entries } = rewrite(`struct P { uint4 a; float b[3]; };
      template <typename T> kernel void f(device T* y [[buffer(7)]], constant P& p [[buffer(1)]], constant T* x [[buffer(4)]],
        threadgroup T* shared [[threadgroup(0)]], uint3 at [[threadgroup_position_in_grid]]) {
        threadgroup T own[5]; own[at.x] = x[at.z]; shared[at.y] = own[0] + T(p.b[at.x]); y[p.a.x] = shared[1];
      }
      template [[host_name("f_" "float")]] kernel decltype(f<float>) f<float>;
      template [[host_name("f_half")]] kernel decltype(f<half>) f<half>;`);
    const buffers = [
      { index: 1, kind: 'value' },
      { index: 4, kind: 'pointer' },
      { index: 7, kind: 'pointer' },
    ];
    expect(entries).toEqual({
      f_float: { buffers, hasDynamicShared: true },
      f_half: { buffers, hasDynamicShared: true },
    });
    const ptx = await compileToPtx(source, 'sm_90');
    expect(ptx.replaceAll(/\s+/g, ' ')).toContain(
      '.entry f_half( .param .align 16 .b8 f_half_param_0[32], .param .u64 f_half_param_1, .param .u64 f_half_param_2 )',
    );
    expect(ptx).toMatch(/\.shared \.align 16 \.b8 \w+\[20\]/);
    expect(ptx).toContain('.extern .shared .align 16 .b8 msl_dynamic_memory[];');
  });

  it('knows the address space of every access, and caches bytes that are only read', async () => {
    const ptx = await compile(
      `threadgroup float4 x[64]; x[t] = ((device const float4*)in)[i] + float4(((device const uint4*)bytes)[i]);
       threadgroup_barrier(mem_flags::mem_threadgroup); ((device float4*)out)[i] = x[63 - t];`,
    );
    for (const access of [
      'ld.global.v4.f32',
      'ld.global.nc.v4.u32',
      'st.shared.v4',
      'ld.shared.v4',
      'st.global.v4',
    ]) {
      expect(ptx).toContain(access);
    }
    expect(ptx).toMatch(/bar\.sync\s+0;/);
  });

  it('fuses products and sums only if the source does', async () => {
    const statements = 'out[i] = in[i] * in[i + 1] + in[i + 2];';
    expect(await compile(statements)).toMatch(/fma\.rn\.f32/);
    const apart = await compile(statements, '#pragma METAL fp contract(off)');
    expect(apart).toMatch(/mul\.rn\.f32[\s\S]*add\.rn\.f32/);
    expect(apart).not.toContain('fma');
    expect(await compile('out[i] = in[i] / precise::sqrt(in[i + 1]);')).toMatch(
      /sqrt\.rn\.f32[\s\S]*div\.rn\.f32/,
    );
  });

  it('folds over lanes by halves, with shuffles of the whole warp', async () => {
    const ptx = await compile('out[i] = simd_sum(in[i]);');
    const places = [16, 8, 4, 2, 1].map((reach) =>
      ptx.search(new RegExp(`xor\\.b32\\s+%r\\d+, %r\\d+, ${reach};`)),
    );
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
    expect(ptx.match(/shfl\.sync\.idx\.b32/g)).toHaveLength(5);
  });

  it('uses the hardware conversion to bfloat, and hardware atomics', async () => {
    expect(await compile('((device bfloat*)out)[i] = bfloat(in[i]);')).toContain('cvt.rn.bf16.f32');
    const counting = 'atomic_fetch_add_explicit((device atomic_uint*)out, n, memory_order_relaxed);';
    expect(await compile(counting)).toMatch(/(?:atom|red)\.global\.add\.u32/);
  });

  it('rejects functions that differ between GPUs, and function constants', async () => {
    await expect(compile('out[i] = exp(in[i]);')).rejects.toThrow(/'exp'/);
    expect(() => rewrite('constant int c [[function_constant(0)]];')).toThrow(/function constants/);
  });
});
