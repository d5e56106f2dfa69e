#pragma once

/**
 * The norm of a row, as rms_norm computes it and as others do in their prologues, with the same bits. Metal only; the
 * including file has metal_stdlib, metal_storage.h and metal_math.h.
 */

#pragma METAL fp contract(off)

/** A vector in device memory. */
struct DeviceVector {
  device const float* values;
  float at(uint i) const { return values[i]; }
};

/**
 * norm_factor of a vector, for all threads of the threadgroup: sums run over one simdgroup up to kSimdgroupWidth elements,
 * which every simdgroup then does for itself, and over kRowThreads threads beyond. All threads call it.
 */
template <typename Vector>
inline float vector_factor(Vector x, uint width, float eps, threadgroup float* partial, uint thread_index) {
  const uint lane = thread_index % kLanes;
  float squares = 0.0f;
  if (width <= kSimdgroupWidth) {
    for (uint i = lane; i < width; i += kLanes) {
      const float value = x.at(i);
      squares = fma(value, value, squares);
    }
    return norm_factor(simd_sum(squares), width, eps);
  }
  for (uint i = thread_index; i < width; i += kRowThreads) {
    const float value = x.at(i);
    squares = fma(value, value, squares);
  }
  return norm_factor(sum_over_threads(squares, partial, thread_index / kLanes, lane), width, eps);
}
