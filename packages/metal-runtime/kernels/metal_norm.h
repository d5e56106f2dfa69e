#pragma once

/**
 * The norm of a row, shared by rms_norm and the prologues of other kernels, so that the bits are the same. Metal only; the
 * including file has metal_stdlib, metal_storage.h and metal_math.h.
 */

#pragma METAL fp contract(off)

/** A vector in device memory. */
struct DeviceVector {
  device const float* values;
  float at(uint i) const { return values[i]; }
};

/** Sum of the squares of x[first], x[first + step], ..., in this order. */
template <typename Vector>
inline float strided_squares(Vector x, uint width, uint first, uint step) {
  float squares = 0.0f;
#if defined(MARKBASE_NVIDIA)
  // Number of loads in flight.
  constexpr uint kTogether = 12;
  for (uint begin = first; begin < width; begin += kTogether * step) {
    float values[kTogether];
#pragma unroll
    for (uint k = 0; k < kTogether; ++k) values[k] = x.at(min(begin + k * step, width - 1));
#pragma unroll
    for (uint k = 0; k < kTogether; ++k) squares = begin + k * step < width ? fma(values[k], values[k], squares) : squares;
  }
#else
  for (uint i = first; i < width; i += step) {
    const float value = x.at(i);
    squares = fma(value, value, squares);
  }
#endif
  return squares;
}

/**
 * norm_factor of a vector, for all threads of the threadgroup: sums run over one simdgroup up to kSimdgroupWidth elements,
 * computed by every simdgroup for itself, and over kRowThreads threads beyond. All threads call it.
 */
template <typename Vector>
inline float vector_factor(Vector x, uint width, float eps, threadgroup float* partial, uint thread_index) {
  const uint lane = thread_index % kLanes;
  if (width <= kSimdgroupWidth) return norm_factor(simd_sum(strided_squares(x, width, lane, kLanes)), width, eps);
  const float squares = strided_squares(x, width, thread_index, kRowThreads);
  return norm_factor(sum_over_threads(squares, partial, thread_index / kLanes, lane), width, eps);
}
