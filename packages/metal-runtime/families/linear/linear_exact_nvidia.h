#pragma once

/**
 * Shared by the linear_exact kernels: rows distributed over threads. The including file has metal_stdlib, launch.h,
 * linear_params.h, linear_exact_tiles.h, metal_storage.h and metal_math.h.
 */

#pragma METAL fp contract(off)

constant constexpr uint kMostColumns = MARKBASE_EXACT_COLUMNS;
/** Chunks per lane, and elements per thread. */
constant constexpr uint kLaneChunks = kMostColumns / 32 / kLanes;
constant constexpr uint kOwn = kMostColumns / kRowThreads;

/** A thread's elements of a row: thread_index, thread_index + kRowThreads, .... */
inline void load_own(device const float* from, uint in, uint thread_index, thread float (&out)[kOwn]) {
#pragma unroll
  for (uint k = 0; k < kOwn; ++k) out[k] = from[min(thread_index + k * kRowThreads, in - 1)];
}

/** The same for a bf16 gain. */
inline void load_own(device const uchar* from, uint in, uint thread_index, thread ushort (&out)[kOwn]) {
#pragma unroll
  for (uint k = 0; k < kOwn; ++k) out[k] = ((device const ushort*)from)[min(thread_index + k * kRowThreads, in - 1)];
}

/**
 * The norm factors of several rows, for all threads, summed in the order of vector_factor of metal_norm.h. `partial`: [rows, simdgroups].
 */
template <uint rows>
inline void factors_of_own(thread const float (&values)[rows][kOwn],
                           uint in,
                           float eps,
                           threadgroup float* partial,
                           uint thread_index,
                           thread float (&factors)[rows]) {
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
#pragma unroll
  for (uint r = 0; r < rows; ++r) {
    float squares = 0.0f;
#pragma unroll
    for (uint k = 0; k < kOwn; ++k) {
      squares = thread_index + k * kRowThreads < in ? fma(values[r][k], values[r][k], squares) : squares;
    }
    factors[r] = simd_sum(squares);
  }
  // Results of an earlier sum may still be read.
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (uint r = 0; r < rows; ++r) {
    if (lane == 0) partial[r * kRowSimdgroups + simdgroup] = factors[r];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (uint r = 0; r < rows; ++r) {
    float total = partial[r * kRowSimdgroups];
    for (uint i = 1; i < kRowSimdgroups; ++i) total += partial[r * kRowSimdgroups + i];
    factors[r] = norm_factor(total, in, eps);
  }
}

/** The rows of the prologue in memory. */
struct ExactSource {
  device const float* x;
  device const float* residual;
  device float* h;
  device const int* output_row;
  bool stores_h;
};

/** The gains of a thread's elements. */
struct OwnGains {
  ushort norm[kOwn], residual[kOwn];

  void load(constant LinearParams& p, device const uchar* norm_gain, device const uchar* residual_gain, uint thread_index) {
    if (p.has_norm != 0) load_own(norm_gain, p.in, thread_index, norm);
    if (p.has_residual != 0) load_own(residual_gain, p.in, thread_index, residual);
  }
};

/** The prologue of `rows` rows from `first` on, where rows from `count` on repeat the last one: a thread's elements of the results. */
template <uint rows>
inline void prepare_own(constant LinearParams& p,
                        ExactSource source,
                        thread const OwnGains& gains,
                        uint first,
                        uint count,
                        threadgroup float* partial,
                        uint thread_index,
                        thread float (&values)[rows][kOwn]) {
  float factors[rows];
#pragma unroll
  for (uint r = 0; r < rows; ++r) {
    const uint row = min(first + r, count - 1);
    const ulong from = p.gathers != 0 ? source.output_row[row] : row;
    load_own(source.x + from * p.x_stride, p.in, thread_index, values[r]);
  }
  if (p.has_residual != 0) {
    float residuals[rows][kOwn];
#pragma unroll
    for (uint r = 0; r < rows; ++r) {
      const uint row = min(first + r, count - 1);
      const ulong from = p.gathers != 0 ? source.output_row[row] : row;
      load_own(source.residual + from * p.residual_stride, p.in, thread_index, residuals[r]);
    }
    factors_of_own<rows>(values, p.in, p.eps, partial, thread_index, factors);
#pragma unroll
    for (uint r = 0; r < rows; ++r) {
#pragma unroll
      for (uint k = 0; k < kOwn; ++k) {
        const uint i = thread_index + k * kRowThreads;
        values[r][k] = (residuals[r][k] + values[r][k] * factors[r] * from_bf16(gains.residual[k])) * p.residual_scale;
        if (source.stores_h && i < p.in && first + r < count) source.h[ulong(first + r) * p.h_stride + i] = values[r][k];
      }
    }
  }
  if (p.has_norm == 0) return;
  factors_of_own<rows>(values, p.in, p.eps, partial, thread_index, factors);
#pragma unroll
  for (uint r = 0; r < rows; ++r) {
#pragma unroll
    for (uint k = 0; k < kOwn; ++k) values[r][k] = values[r][k] * factors[r] * from_bf16(gains.norm[k]);
  }
}

#define MARKBASE_EXACT_ARGUMENTS                                                                                                        \
  constant LinearParams &p [[buffer(0)]], constant Launch &launch [[buffer(1)]], device const float *x [[buffer(2)]],                   \
      device const float *residual [[buffer(3)]], device const uchar *residual_gain [[buffer(4)]], device float *h [[buffer(5)]],       \
      device const uchar *norm_gain [[buffer(6)]], device const float *operand [[buffer(7)]], device const uchar *weight [[buffer(8)]], \
      device const uchar *scales [[buffer(9)]], device const uchar *biases [[buffer(10)]], device float *y [[buffer(17)]],              \
      device const int *output_row [[buffer(24)]], uint2 at [[threadgroup_position_in_grid]],                                           \
      uint thread_index [[thread_index_in_threadgroup]]
