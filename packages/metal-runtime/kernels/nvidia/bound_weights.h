#pragma once

/**
 * Bindings of the kernels of a linear for a few rows on tensor cores. The including file has metal_stdlib, launch.h, linear_params.h and
 * metal_storage.h.
 */

/** The bound weights and outputs of a linear. */
struct BoundWeights {
  device const uchar *w0, *s0, *b0, *w1, *s1, *b1, *w2, *s2, *b2;
  device float *y0, *y1, *y2;

  device const uchar* codes(constant Launch& launch, uint index) const {
    return (index == 0 ? w0 : index == 1 ? w1 : w2) + launch.shift[6 + 3 * index];
  }
  device const uchar* scales(constant Launch& launch, uint index) const {
    return (index == 0 ? s0 : index == 1 ? s1 : s2) + launch.shift[7 + 3 * index];
  }
  device const uchar* biases(constant Launch& launch, uint index) const {
    return (index == 0 ? b0 : index == 1 ? b1 : b2) + launch.shift[8 + 3 * index];
  }
  /** Row `row` of weight `index`. */
  WeightRow row(constant Launch& launch, uint index, uint row, uint row_bytes, uint scale_bytes) const {
    return {codes(launch, index) + ulong(row) * row_bytes, scales(launch, index) + ulong(row) * scale_bytes,
            biases(launch, index) + ulong(row) * scale_bytes};
  }
  device float* output(uint index) const { return index == 0 ? y0 : index == 1 ? y1 : y2; }
};

#define MARKBASE_CORES_ARGUMENTS                                                                                                    \
  constant LinearParams &p [[buffer(0)]], constant Launch &launch [[buffer(1)]], device const float *x [[buffer(2)]],               \
      device const float *residual [[buffer(3)]], device const uchar *residual_gain [[buffer(4)]], device float *h [[buffer(5)]],   \
      device const uchar *norm_gain [[buffer(6)]], device const float *operand [[buffer(7)]], device const uchar *w0 [[buffer(8)]], \
      device const uchar *s0 [[buffer(9)]], device const uchar *b0 [[buffer(10)]], device const uchar *w1 [[buffer(11)]],           \
      device const uchar *s1 [[buffer(12)]], device const uchar *b1 [[buffer(13)]], device const uchar *w2 [[buffer(14)]],          \
      device const uchar *s2 [[buffer(15)]], device const uchar *b2 [[buffer(16)]], device float *y0 [[buffer(17)]],                \
      device float *y1 [[buffer(18)]], device float *y2 [[buffer(19)]], device const int *output_row [[buffer(24)]],                \
      uint2 at [[threadgroup_position_in_grid]], uint2 groups [[threadgroups_per_grid]], uint thread_index [[thread_index_in_threadgroup]]

#define MARKBASE_BOUND_WEIGHTS {w0, s0, b0, w1, s1, b1, w2, s2, b2, y0, y1, y2}
