#pragma once

#include "simd.h"

// The part of Metal 4 tensors that a kernel needs if it copies its operands to threadgroup memory itself: dense two-dimensional tensors
// over memory, and matmul2d of Metal Performance Primitives with a cooperative tensor as its destination.

MSL_UNCHECKED_BEGIN
namespace msl {

inline unsigned thread_index() { return runtime->thread_index(); }

/** All threads of the threadgroup, which must be `threads`, meet; this does not order memory accesses. */
inline void meet_group(unsigned threads, const char* file, unsigned line) {
  if (runtime->thread_count() != threads) runtime->refuse("matmul2d: its scope is not the whole threadgroup", line);
  runtime->barrier(0, file, line);
}

}  // namespace msl
MSL_UNCHECKED_END

namespace metal {

struct tensor_inline {};

/** Sizes unknown at compile time, innermost dimension first. */
template <typename Index, size_t rank>
struct dextents {
  static_assert(rank == 2, "dextents: only two dimensions are simulated");
  constexpr dextents(Index columns, Index rows) : sizes_{columns, rows} {}
  constexpr Index extent(size_t dimension) const { return sizes_[dimension]; }

 private:
  Index sizes_[rank];
};

/** A view of memory with contiguous rows. */
template <typename T, typename Extents, typename Descriptor>
struct tensor {
  static_assert(is_same_v<Descriptor, tensor_inline>, "tensor: only tensor_inline is simulated");
  using element_type = T;
  constexpr tensor(T* data, Extents extents) : data_(data), extents_(extents) {}
  constexpr const Extents& extents() const { return extents_; }
  constexpr T* row(ulong index) const { return data_ + index * ulong(extents_.extent(0)); }

 private:
  T* data_;
  Extents extents_;
};

/** The threads that execute an operation together. */
template <size_t size>
struct execution_simdgroups {
  static constexpr unsigned kThreads = size * msl::kSimdWidth;
};
using execution_simdgroup = execution_simdgroups<1>;

/**
 * A matrix distributed over the threads of an operation. Metal does not specify which thread has which element; here every thread has a run
 * of adjacent elements in row order.
 */
template <typename T, uint rows, uint columns, uint threads>
struct cooperative_tensor {
  using element_type = T;
  static constexpr uint kCapacity = (rows * columns + threads - 1) / threads;

  static constexpr uint16_t get_capacity() { return kCapacity; }
  T& operator[](uint16_t i) { return elements_[i]; }

  /** Rows and columns of element i; elements beyond the last row do not exist. */
  static uint row_of(uint16_t i) { return (msl::thread_index() * kCapacity + i) / columns; }
  static uint column_of(uint16_t i) { return (msl::thread_index() * kCapacity + i) % columns; }

  template <typename Target>
  void store(Target& target) {
    for (uint16_t i = 0; i < kCapacity; ++i) {
      if (row_of(i) < rows) target.row(row_of(i))[column_of(i)] = elements_[i];
    }
  }

 private:
  T elements_[kCapacity];
};

}  // namespace metal

namespace mpp::tensor_ops {

/** A product of [m, k] and [k, n]; a transposed operand is stored with swapped dimensions. */
struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  int m, n, k;
  bool transpose_left, transpose_right, relaxed_precision;
  mode matmul_mode;

  constexpr matmul2d_descriptor(int rows,
                                int columns,
                                int depth = -1,
                                bool is_left_transposed = false,
                                bool is_right_transposed = false,
                                bool is_relaxed = false,
                                mode how = mode::multiply)
      : m(rows),
        n(columns),
        k(depth),
        transpose_left(is_left_transposed),
        transpose_right(is_right_transposed),
        relaxed_precision(is_relaxed),
        matmul_mode(how) {}

  /** The descriptor as a number, because a structure cannot be a template argument in the language that kernels are compiled as. */
  constexpr operator ulong() const {
    return ulong(m) << 48 | ulong(n) << 32 | ulong(k & 0xffff) << 16 | ulong(transpose_left) | ulong(transpose_right) << 1 |
           ulong(matmul_mode == mode::multiply_accumulate) << 2;
  }
};

template <ulong descriptor, typename Scope>
struct matmul2d {
  static constexpr unsigned kRows = descriptor >> 48, kColumns = descriptor >> 32 & 0xffff, kDepth = descriptor >> 16 & 0xffff;
  static constexpr bool kIsLeftTransposed = descriptor & 1, kIsRightTransposed = descriptor & 2, kAccumulates = descriptor & 4;
  static_assert(kDepth != 0xffff, "matmul2d: only a constant depth is simulated");
  static_assert(kRows % 16 == 0 || kColumns % 16 == 0, "matmul2d: m or n is a multiple of 16");

  template <typename Left, typename Right, typename T>
  metal::cooperative_tensor<T, kRows, kColumns, Scope::kThreads> get_destination_cooperative_tensor() const {
    return {};
  }

  /** All threads of the scope meet; then each computes its elements, with products and sums in float32. */
  template <typename Left, typename Right, typename T>
  void run(Left& left, Right& right, metal::cooperative_tensor<T, kRows, kColumns, Scope::kThreads>& destination, MSL_PLACE) const {
    static_assert(metal::is_same_v<typename Left::element_type, typename Right::element_type> && metal::is_same_v<T, float>,
                  "matmul2d: only operands of one type with float results are simulated");
    msl::meet_group(Scope::kThreads, file, line);
    for (unsigned i = 0; i < destination.get_capacity(); ++i) {
      const unsigned row = destination.row_of(i), column = destination.column_of(i);
      if (row >= kRows) continue;
      float sum = kAccumulates ? destination[i] : 0.0f;
      for (unsigned k = 0; k < kDepth; ++k) {
        const float a = float(kIsLeftTransposed ? left.row(k)[row] : left.row(row)[k]);
        const float b = float(kIsRightTransposed ? right.row(column)[k] : right.row(k)[column]);
        sum = __builtin_fmaf(a, b, sum);
      }
      destination[i] = sum;
    }
  }
};

}  // namespace mpp::tensor_ops
