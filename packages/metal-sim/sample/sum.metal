#include <metal_stdlib>
using namespace metal;

/** sums[g] = the sum of x[i] + y[i] over the elements of threadgroup g. */
kernel void add_and_sum(device const float* x [[buffer(0)]],
                        device const float* y [[buffer(1)]],
                        device float* sums [[buffer(2)]],
                        constant uint& count [[buffer(3)]],
                        uint i [[thread_position_in_grid]],
                        uint group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[8];
  const float own = simd_sum(i < count ? x[i] + y[i] : 0.0f);
  if (lane == 0) partial[simdgroup] = own;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane == 0 && simdgroup == 0) {
    float total = 0.0f;
    for (uint k = 0; k < 8; ++k) total += partial[k];
    sums[group] = total;
  }
}
