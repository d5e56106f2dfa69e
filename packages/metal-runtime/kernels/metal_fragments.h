#pragma once

/**
 * Products of matrices by one simdgroup: 16 rows × 16 columns times 8 outputs × 16 columns, with sums in float32 that run over the
 * columns in ascending order. Operands come from threadgroup memory, with strides that are multiples of two elements.
 *
 * Simdgroup matrices on Apple GPUs; on NVIDIA GPUs (MARKBASE_NVIDIA) tensor cores, which multiply only bf16. Metal only; the
 * including file has metal_stdlib.
 */

#if defined(MARKBASE_NVIDIA)

/** 16 rows × 16 columns. */
template <typename T>
struct RowFragment {
  uint pairs[4];
};

/** 8 outputs × 16 columns. */
template <typename T>
struct OutputFragment {
  uint pairs[2];
};

/** 16 rows × 8 outputs. */
struct SumFragment {
  float values[4];
};

template <typename T>
inline void load_rows(thread RowFragment<T>& rows, threadgroup const T* at, uint stride, uint lane) {
  threadgroup const T* own = at + lane / 4 * stride + lane % 4 * 2;
  rows.pairs[0] = *(threadgroup const uint*)own;
  rows.pairs[1] = *(threadgroup const uint*)(own + 8 * stride);
  rows.pairs[2] = *(threadgroup const uint*)(own + 8);
  rows.pairs[3] = *(threadgroup const uint*)(own + 8 * stride + 8);
}

/** Outputs are rows of the memory. */
template <typename T>
inline void load_outputs(thread OutputFragment<T>& outputs, threadgroup const T* at, uint stride, uint lane) {
  threadgroup const T* own = at + lane / 4 * stride + lane % 4 * 2;
  outputs.pairs[0] = *(threadgroup const uint*)own;
  outputs.pairs[1] = *(threadgroup const uint*)(own + 8);
}

/** Outputs are columns of the memory. */
template <typename T>
inline void load_outputs_transposed(thread OutputFragment<T>& outputs, threadgroup const T* at, uint stride, uint lane) {
  nvidia::load_transposed(outputs.pairs, at + lane % 16 * stride);
}

inline void clear(thread SumFragment& sums) {
  for (uint i = 0; i < 4; ++i) sums.values[i] = 0.0f;
}

template <typename T>
inline void add_product(thread SumFragment& sums, RowFragment<T> rows, OutputFragment<T> outputs) {
  nvidia::multiply_accumulate(sums.values, rows.pairs, outputs.pairs);
}

/** Scales every row; two 8 × 8 matrices have the factors of the rows on their diagonals. */
inline void scale_rows(thread SumFragment& sums, threadgroup const float* diagonals, uint lane) {
  const float upper = diagonals[lane / 4 * 9], lower = diagonals[64 + lane / 4 * 9];
  sums.values[0] *= upper;
  sums.values[1] *= upper;
  sums.values[2] *= lower;
  sums.values[3] *= lower;
}

inline void store_sums(SumFragment sums, threadgroup float* to, uint stride, uint lane) {
  threadgroup float* own = to + lane / 4 * stride + lane % 4 * 2;
  own[0] = sums.values[0];
  own[1] = sums.values[1];
  own[8 * stride] = sums.values[2];
  own[8 * stride + 1] = sums.values[3];
}

#else

/** 16 rows × 16 columns. */
template <typename T>
struct RowFragment {
  simdgroup_matrix<T, 8, 8> parts[2][2];  ///< by rows, by columns
};

/** 8 outputs × 16 columns. */
template <typename T>
struct OutputFragment {
  simdgroup_matrix<T, 8, 8> parts[2];
};

/** 16 rows × 8 outputs. */
struct SumFragment {
  simdgroup_matrix<float, 8, 8> parts[2];
};

template <typename T>
inline void load_rows(thread RowFragment<T>& rows, threadgroup const T* at, uint stride, uint) {
  for (uint i = 0; i < 2; ++i) {
    for (uint k = 0; k < 2; ++k) simdgroup_load(rows.parts[i][k], at + 8 * i * stride + 8 * k, stride);
  }
}

/** Outputs are rows of the memory. */
template <typename T>
inline void load_outputs(thread OutputFragment<T>& outputs, threadgroup const T* at, uint stride, uint) {
  for (uint k = 0; k < 2; ++k) simdgroup_load(outputs.parts[k], at + 8 * k, stride, ulong2(0, 0), true);
}

/** Outputs are columns of the memory. */
template <typename T>
inline void load_outputs_transposed(thread OutputFragment<T>& outputs, threadgroup const T* at, uint stride, uint) {
  for (uint k = 0; k < 2; ++k) simdgroup_load(outputs.parts[k], at + 8 * k * stride, stride);
}

inline void clear(thread SumFragment& sums) {
  for (uint i = 0; i < 2; ++i) sums.parts[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
}

template <typename T>
inline void add_product(thread SumFragment& sums, RowFragment<T> rows, OutputFragment<T> outputs) {
  for (uint i = 0; i < 2; ++i) {
    for (uint k = 0; k < 2; ++k) {
      simdgroup_multiply_accumulate(sums.parts[i], rows.parts[i][k], outputs.parts[k], sums.parts[i]);
    }
  }
}

/** Scales every row; two 8 × 8 matrices have the factors of the rows on their diagonals. */
inline void scale_rows(thread SumFragment& sums, threadgroup const float* diagonals, uint) {
  for (uint i = 0; i < 2; ++i) {
    simdgroup_matrix<float, 8, 8> diagonal;
    simdgroup_load(diagonal, diagonals + 64 * i, 8);
    simdgroup_multiply(sums.parts[i], diagonal, sums.parts[i]);
  }
}

inline void store_sums(SumFragment sums, threadgroup float* to, uint stride, uint) {
  for (uint i = 0; i < 2; ++i) simdgroup_store(sums.parts[i], to + 8 * i * stride, stride);
}

#endif
