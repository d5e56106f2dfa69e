#pragma once

#include "lanes.h"

// The product of two simdgroup matrices on the CPU, computed by the last lane to arrive.

MSL_UNCHECKED_BEGIN

namespace msl {

template <typename D, typename A, typename B, typename C>
struct MatrixSlot {
  metal::vec<D, 2> d;
  metal::vec<A, 2> a;
  metal::vec<B, 2> b;
  metal::vec<C, 2> c;
};

/** d = a b + c, with products and sums in float32 as in the matrix units of Apple GPUs. */
template <typename D, typename A, typename B, typename C>
void multiply_lanes(void* const* slots) {
  using Slot = MatrixSlot<D, A, B, C>;
  float a[8][8], b[8][8], c[8][8];
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!slots[lane]) continue;
    const Slot& slot = *static_cast<const Slot*>(slots[lane]);
    const unsigned row = matrix_row(lane), column = matrix_column(lane);
    for (unsigned k = 0; k < 2; ++k) {
      a[row][column + k] = float(slot.a[k]);
      b[row][column + k] = float(slot.b[k]);
      c[row][column + k] = float(slot.c[k]);
    }
  }
  for (unsigned i = 0; i < 8; ++i) {
    for (unsigned k = 0; k < 8; ++k) {
      for (unsigned j = 0; j < 8; ++j) c[i][j] = __builtin_fmaf(a[i][k], b[k][j], c[i][j]);
    }
  }
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!slots[lane]) continue;
    const unsigned row = matrix_row(lane), column = matrix_column(lane);
    static_cast<Slot*>(slots[lane])->d = {D(c[row][column]), D(c[row][column + 1])};
  }
}

/** This lane's elements of a b + c. */
template <typename D, typename A, typename B, typename C>
inline metal::vec<D, 2> multiply(metal::ext<A, 2> a, metal::ext<B, 2> b, metal::ext<C, 2> c, unsigned line) {
  MatrixSlot<D, A, B, C> slot{{}, a, b, c};
  meet_lanes(&slot, multiply_lanes<D, A, B, C>, "simdgroup_multiply_accumulate", line);
  return slot.d;
}

}  // namespace msl

MSL_UNCHECKED_END
