#pragma once

#include "lanes.h"

// Functions that kernels for NVIDIA GPUs use in addition to Metal, on the CPU. Elements are distributed over lanes as in PTX for
// mma.m16n8k16 and m16n8k32.

MSL_UNCHECKED_BEGIN

namespace msl {

/** A lane's operands of a product, and its sums. */
template <typename Sum>
struct CoreSlot {
  Sum* sums;
  const unsigned* rows;
  const unsigned* outputs;
};

/** Element k, 0 or 1, of a bf16 pair. */
inline float element_of(unsigned pair, unsigned k) { return __builtin_bit_cast(float, k == 0 ? pair << 16 : pair & 0xffff0000u); }

/** Byte k of a word. */
inline unsigned byte_of(unsigned word, unsigned k) { return word >> (8 * k) & 0xffu; }

/**
 * [16, 8] += [16, 8 n] [8 n, 8] over the columns in ascending order, with n elements per word. `Core`: Sum, n, access to the elements of
 * words of rows and outputs, and the addition of one product.
 */
template <typename Core>
inline void multiply_on_cores(void* const* slots) {
  using Sum = typename Core::Sum;
  constexpr unsigned n = Core::kElements;
  Sum a[16][8 * n] = {}, b[8 * n][8] = {};
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!slots[lane]) continue;
    const auto& slot = *static_cast<const CoreSlot<Sum>*>(slots[lane]);
    const unsigned group = lane / 4, column = lane % 4 * n;
    for (unsigned k = 0; k < n; ++k) {
      for (unsigned part = 0; part < 4; ++part) {
        a[group + part % 2 * 8][column + part / 2 * (4 * n) + k] = Core::row_element(slot.rows[part], k);
      }
      for (unsigned part = 0; part < 2; ++part) b[column + part * (4 * n) + k][group] = Core::output_element(slot.outputs[part], k);
    }
  }
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!slots[lane]) continue;
    Sum* sums = static_cast<const CoreSlot<Sum>*>(slots[lane])->sums;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + i / 2 * 8, output = lane % 4 * 2 + i % 2;
      for (unsigned k = 0; k < 8 * n; ++k) sums[i] = Core::add(a[row][k], b[k][output], sums[i]);
    }
  }
}

/** mma.m16n8k16 of bf16. */
struct PairCore {
  using Sum = float;
  static constexpr unsigned kElements = 2;
  static float row_element(unsigned word, unsigned k) { return element_of(word, k); }
  static float output_element(unsigned word, unsigned k) { return element_of(word, k); }
  static float add(float a, float b, float sum) { return __builtin_fmaf(a, b, sum); }
};

/** mma.m16n8k32 of bytes: rows are unsigned, outputs are signed. */
struct ByteCore {
  using Sum = int;
  static constexpr unsigned kElements = 4;
  static int row_element(unsigned word, unsigned k) { return static_cast<int>(byte_of(word, k)); }
  static int output_element(unsigned word, unsigned k) { return static_cast<signed char>(byte_of(word, k)); }
  static int add(int a, int b, int sum) { return sum + a * b; }
};

/** A lane's operands of a product of a warpgroup, and its sums; it reads 16 columns of every 32nd row. */
template <unsigned rows>
struct WarpgroupSlot {
  float* sums;
  const unsigned* weights;
  unsigned columns[rows / kSimdWidth][8];
};

/** [16, rows] += [16, 16] [16, rows] over the columns in ascending order. */
template <unsigned rows>
inline void multiply_warpgroup_lanes(void* const* slots) {
  float weights[16][16] = {};
  unsigned columns[rows][8] = {};
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!slots[lane]) continue;
    const auto& slot = *static_cast<const WarpgroupSlot<rows>*>(slots[lane]);
    for (unsigned i = 0; i < 8; ++i) {
      weights[lane / 4 + i / 2 % 2 * 8][lane % 4 * 2 + i / 4 * 8 + i % 2] = element_of(slot.weights[i / 2], i % 2);
    }
    for (unsigned i = 0; i < rows / kSimdWidth; ++i) __builtin_memcpy(columns[i * kSimdWidth + lane], slot.columns[i], sizeof columns[0]);
  }
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!slots[lane]) continue;
    const auto& slot = *static_cast<const WarpgroupSlot<rows>*>(slots[lane]);
    for (unsigned i = 0; i < rows / 2; ++i) {
      const unsigned row = i / 4 * 8 + lane % 4 * 2 + i % 2, output = lane / 4 + i / 2 % 2 * 8;
      for (unsigned k = 0; k < 16; ++k)
        slot.sums[i] = __builtin_fmaf(weights[output][k], element_of(columns[row][k / 2], k % 2), slot.sums[i]);
    }
  }
}

/** A lane's part in loading a matrix: the row that it names, and the destination of its elements. */
struct MatrixLoad {
  unsigned row[4];
  unsigned* pairs;
};

/** Lane i names row i of a 16 × 8 matrix; lanes get adjacent pairs of a column. */
inline void load_transposed_lanes(void* const* slots) {
  unsigned short rows[16][8] = {};
  for (unsigned row = 0; row < 16; ++row) {
    if (slots[row]) __builtin_memcpy(rows[row], static_cast<const MatrixLoad*>(slots[row])->row, sizeof rows[row]);
  }
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!slots[lane]) continue;
    const unsigned group = lane / 4, row = lane % 4 * 2;
    for (unsigned part = 0; part < 2; ++part) {
      static_cast<const MatrixLoad*>(slots[lane])->pairs[part] = rows[8 * part + row][group] | rows[8 * part + row + 1][group] << 16;
    }
  }
}

/** Lanes 0 to 15 name rows of the left half of a 16 × 16 matrix, the others rows of the right half. */
inline void load_matrix_lanes(void* const* slots) {
  unsigned rows[kSimdWidth][4] = {};
  for (unsigned i = 0; i < kSimdWidth; ++i) {
    if (slots[i]) __builtin_memcpy(rows[i], static_cast<const MatrixLoad*>(slots[i])->row, sizeof rows[i]);
  }
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!slots[lane]) continue;
    for (unsigned part = 0; part < 4; ++part) {
      static_cast<const MatrixLoad*>(slots[lane])->pairs[part] = rows[8 * part + lane / 4][lane % 4];
    }
  }
}

/** The same for four 8 × 8 matrices, with adjacent pairs of a column. */
inline void load_matrix_transposed_lanes(void* const* slots) {
  unsigned short rows[kSimdWidth][8] = {};
  for (unsigned i = 0; i < kSimdWidth; ++i) {
    if (slots[i]) __builtin_memcpy(rows[i], static_cast<const MatrixLoad*>(slots[i])->row, sizeof rows[i]);
  }
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!slots[lane]) continue;
    const unsigned group = lane / 4, row = lane % 4 * 2;
    for (unsigned part = 0; part < 4; ++part) {
      static_cast<const MatrixLoad*>(slots[lane])->pairs[part] = rows[8 * part + row][group] | rows[8 * part + row + 1][group] << 16;
    }
  }
}

}  // namespace msl

namespace nvidia {

/** Waits for the results of earlier kernels, which have already ended here. */
inline void wait_for_inputs() {}

/** (word & mask) | bits. */
inline unsigned masked_or(unsigned word, unsigned mask, unsigned bits) { return (word & mask) | bits; }

/** Two numbers rounded to bf16, the first one in the lower half. */
inline unsigned bf16_pair(float first, float second) {
  const bfloat pair[2] = {bfloat(first), bfloat(second)};
  unsigned bits;
  __builtin_memcpy(&bits, pair, sizeof bits);
  return bits;
}

/** sums [16, 8] += rows [16, 16] times outputs [8, 16], in bf16. */
inline void multiply_accumulate(float (&sums)[4], const unsigned (&rows)[4], const unsigned (&outputs)[2], MSL_LINE) {
  msl::CoreSlot<float> slot{sums, rows, outputs};
  msl::meet_lanes(&slot, msl::multiply_on_cores<msl::PairCore>, "multiply_accumulate", line);
}

/** sums [16, 8] += rows [16, 32] times outputs [8, 32], of bytes: rows are unsigned, outputs are signed. */
inline void multiply_accumulate_bytes(int (&sums)[4], const unsigned (&rows)[4], const unsigned (&outputs)[2], MSL_LINE) {
  msl::CoreSlot<int> slot{sums, rows, outputs};
  msl::meet_lanes(&slot, msl::multiply_on_cores<msl::ByteCore>, "multiply_accumulate_bytes", line);
}

/** 2^x; results that are not normal numbers become 0. */
inline float exponential_of_two(float x) {
  const float y = __builtin_exp2f(x);
  return y < 0x1p-126f ? 0.0f : y;
}

/** 1 / x; results that are not normal numbers become 0. */
inline float reciprocal(float x) {
  const float y = 1.0f / x;
  return __builtin_fabsf(y) < 0x1p-126f ? 0.0f : y;
}

/** a b + c for bf16 pairs, rounded once. */
inline unsigned fma_pair(unsigned a, unsigned b, unsigned c) {
  const auto fma = [&](unsigned k) { return __builtin_fmaf(msl::element_of(a, k), msl::element_of(b, k), msl::element_of(c, k)); };
  return bf16_pair(fma(0), fma(1));
}

/** Four bytes of a (0 to 3) and b (4 to 7): the i-th hexadecimal digit of `selector` names byte i. */
inline unsigned select_bytes(unsigned a, unsigned b, unsigned selector) {
  unsigned bytes = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned from = selector >> 4 * i & 7;
    bytes |= ((from < 4 ? a : b) >> from % 4 * 8 & 0xff) << 8 * i;
  }
  return bytes;
}

/** Ends a batch of copies of this thread. */
inline void end_copies() {}

/** Waits until at most `batches` batches of this thread are incomplete. */
template <int batches>
inline void wait_copies() {}

/**
 * The products of a warpgroup, four simdgroups in lockstep: begin_products, calls of multiply_warpgroup, end_products. They run
 * asynchronously on registers and threadgroup memory that must not be accessed until wait_products; copies that they read must be made
 * visible to them before a barrier. Here they run immediately.
 */
inline void begin_products() {}
inline void end_products() {}
inline void show_copies() {}

/** Waits until at most `batches` batches of products of this warpgroup are incomplete. */
template <int batches>
inline void wait_products() {}

}  // namespace nvidia

MSL_UNCHECKED_END

// The following functions access memory on behalf of their thread, and are checked accordingly.

namespace nvidia {

/** Words of a weight. */
template <int words>
inline void load_weights(const void* at, unsigned* out) {
  __builtin_memcpy(out, at, words * sizeof *out);
}

/** 16 bits of a weight's scales or biases. */
inline unsigned load_weight_scalar(const void* at) {
  unsigned short bits;
  __builtin_memcpy(&bits, at, sizeof bits);
  return bits;
}

/**
 * Columns of a 16 × 8 matrix of 16-bit elements in threadgroup memory, in the layout of outputs in multiply_accumulate. Lane i of the first
 * 16 names row i, at a multiple of 16 bytes.
 */
inline void load_transposed(unsigned (&pairs)[2], const bfloat* row, MSL_LINE) {
  msl::MatrixLoad slot{{}, pairs};
  if (msl::lane_index() < 16) __builtin_memcpy(slot.row, row, sizeof slot.row);
  msl::meet_lanes(&slot, msl::load_transposed_lanes, "load_transposed", line);
}

/**
 * A 16 × 16 matrix of 16-bit elements in threadgroup memory, in the layout of rows in multiply_accumulate. Lane i names columns 8 (i / 16)
 * .. of row i % 16, at a multiple of 16 bytes.
 */
inline void load_matrix(unsigned (&pairs)[4], const uchar* row, MSL_LINE) {
  msl::MatrixLoad slot{{}, pairs};
  __builtin_memcpy(slot.row, row, sizeof slot.row);
  msl::meet_lanes(&slot, msl::load_matrix_lanes, "load_matrix", line);
}

/**
 * A 16 × 16 matrix of 16-bit elements in threadgroup memory, as two halves of 8 columns in the layout of outputs in multiply_accumulate,
 * left half first. Lanes name rows as for load_matrix.
 */
inline void load_matrix_transposed(unsigned (&pairs)[4], const uchar* row, MSL_LINE) {
  msl::MatrixLoad slot{{}, pairs};
  __builtin_memcpy(slot.row, row, sizeof slot.row);
  msl::meet_lanes(&slot, msl::load_matrix_transposed_lanes, "load_matrix_transposed", line);
}

/** Copies from device to threadgroup memory, both aligned to the size of the copy; complete after wait_copies and a barrier. */
inline void copy_16(uchar* to, const uchar* from) { __builtin_memcpy(to, from, 16); }
inline void copy_4(uchar* to, const uchar* from) { __builtin_memcpy(to, from, 4); }

/** The same if `exists`; otherwise nothing is read or written. */
inline void copy_16_if(bool exists, uchar* to, const uchar* from) {
  if (exists) __builtin_memcpy(to, from, 16);
}
inline void copy_8_if(bool exists, uchar* to, const uchar* from) {
  if (exists) __builtin_memcpy(to, from, 8);
}

/**
 * sums [64, rows] += weights [64, 16] times rows [rows, 16], in bf16, where `rows` is 32, 64, 128 or 256. Each simdgroup supplies 16 weight
 * rows in the layout of rows in multiply_accumulate, and has their sums: sums 4 i .. for rows 8 i .., in its layout. `stage`, at a multiple
 * of 1024 bytes, has rows of 64 columns, whose 16-byte piece p is stored at index p ^ row % 8; the product takes columns 16 m ...
 */
template <int rows>
inline void multiply_warpgroup(float (&sums)[rows / 2], const unsigned (&weights)[4], const uchar* stage, int m, MSL_LINE) {
  static_assert(rows == 32 || rows == 64 || rows == 128 || rows == 256);
  msl::WarpgroupSlot<rows> slot{sums, weights, {}};
  for (unsigned i = 0; i < rows / msl::kSimdWidth; ++i) {
    const unsigned row = i * msl::kSimdWidth + msl::lane_index();
    for (unsigned piece = 0; piece < 2; ++piece) {
      __builtin_memcpy(slot.columns[i] + 4 * piece, stage + row * 128 + ((2 * m + piece) ^ row % 8) * 16, 16);
    }
  }
  msl::meet_lanes(&slot, msl::multiply_warpgroup_lanes<rows>, "multiply_warpgroup", line);
}

}  // namespace nvidia
