#pragma once

#include "lanes.h"

// The product of two simdgroup matrices with shuffles: it has the bits of the CPU, but not the speed of a matrix unit.

namespace msl {

/** The lane that holds an element. */
constexpr unsigned matrix_lane(unsigned row, unsigned column) {
  return (row & 4) * 4 + (row & 3) * 2 + (column & 4) * 2 + (column / 2 & 1);
}

/** This lane's elements of a b + c. */
template <typename D, typename A, typename B, typename C>
inline metal::vec<D, 2> multiply(metal::ext<A, 2> a, metal::ext<B, 2> b, metal::ext<C, 2> c, unsigned line) {
  const unsigned row = matrix_row(lane_index()), column = matrix_column(lane_index());
  float first = float(c[0]), second = float(c[1]);
#pragma unroll
  for (unsigned pair = 0; pair < 8; pair += 2) {
    const metal::vec<A, 2> left = exchange(a, matrix_lane(row, pair), "", line);
#pragma unroll
    for (unsigned k = 0; k < 2; ++k) {
      const metal::vec<B, 2> right = exchange(b, matrix_lane(pair + k, column), "", line);
      first = __builtin_fmaf(float(left[k]), float(right[0]), first);
      second = __builtin_fmaf(float(left[k]), float(right[1]), second);
    }
  }
  return {D(first), D(second)};
}

inline void meet_all(const char*, unsigned) {}

}  // namespace msl
