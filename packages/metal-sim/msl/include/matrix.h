#pragma once

#include "simd.h"

// simdgroup_matrix: 8 × 8 elements over 32 lanes, two adjacent elements of a row per lane, distributed as on Apple GPUs.

namespace msl {

/** Position of the two elements of a lane. */
constexpr unsigned matrix_row(unsigned lane) { return (lane / 4 & 4) + (lane / 2 & 3); }
constexpr unsigned matrix_column(unsigned lane) { return (lane / 4 & 2) * 2 + (lane & 1) * 2; }

}  // namespace msl

#if defined(__NVPTX__)
#include "../ptx/matrix_product.h"
#include "../ptx/tensor_cores.h"
#else
#include "matrix_product.h"
#include "tensor_cores.h"
#endif

MSL_UNCHECKED_BEGIN

namespace metal {

template <typename T, int columns, int rows>
struct simdgroup_matrix {
  static_assert(columns == 8 && rows == 8, "simdgroup_matrix: only 8 by 8");
  simdgroup_matrix() = default;
  /** `value` on the diagonal. */
  explicit simdgroup_matrix(T value) {
    const unsigned row = msl::matrix_row(msl::lane_index()), column = msl::matrix_column(msl::lane_index());
    elements_ = {row == column ? value : T(0), row == column + 1 ? value : T(0)};
  }
  vec<T, 2>& thread_elements() { return elements_; }
  const vec<T, 2>& thread_elements() const { return elements_; }

 private:
  vec<T, 2> elements_;
};

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <typename T, int columns, int rows>
inline simdgroup_matrix<T, columns, rows> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, columns, rows> made;
  made.thread_elements() = (vec<T, 2>)(value);
  return made;
}

MSL_UNCHECKED_END

/** Each lane loads its own elements; these count as accesses of the kernel. */
template <typename T>
inline void simdgroup_load(simdgroup_matrix<T, 8, 8>& matrix,
                           const T* source,
                           ulong elements_per_row = 8,
                           ulong2 origin = {0, 0},
                           bool transpose = false,
                           MSL_LINE) {
  msl::meet_all("simdgroup_load", line);
  const unsigned row = msl::matrix_row(msl::lane_index()), column = msl::matrix_column(msl::lane_index());
  for (unsigned k = 0; k < 2; ++k) {
    const ulong at = transpose ? (origin.y + column + k) * elements_per_row + origin.x + row
                               : (origin.y + row) * elements_per_row + origin.x + column + k;
    matrix.thread_elements()[k] = source[at];
  }
}

template <typename T>
inline void simdgroup_store(
    simdgroup_matrix<T, 8, 8> matrix, T* target, ulong elements_per_row = 8, ulong2 origin = {0, 0}, bool transpose = false, MSL_LINE) {
  msl::meet_all("simdgroup_store", line);
  const unsigned row = msl::matrix_row(msl::lane_index()), column = msl::matrix_column(msl::lane_index());
  for (unsigned k = 0; k < 2; ++k) {
    const ulong at = transpose ? (origin.y + column + k) * elements_per_row + origin.x + row
                               : (origin.y + row) * elements_per_row + origin.x + column + k;
    target[at] = matrix.thread_elements()[k];
  }
}

MSL_UNCHECKED_BEGIN

template <typename D, typename A, typename B, typename C>
inline void simdgroup_multiply_accumulate(
    simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c, MSL_LINE) {
  d.thread_elements() = msl::multiply<D>(a.thread_elements(), b.thread_elements(), c.thread_elements(), line);
}

template <typename D, typename A, typename B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b, MSL_LINE) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>(D(0)), line);
}

}  // namespace metal
MSL_UNCHECKED_END
