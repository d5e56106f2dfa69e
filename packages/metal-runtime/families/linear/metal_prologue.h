#pragma once

/**
 * The prologue of linear: residual and norms. Metal only; the including file has metal_stdlib,
 * linear_params.h, metal_storage.h, metal_math.h, metal_matrix.h and metal_norm.h.
 */

#pragma METAL fp contract(off)

/**
 * Prepares one row in threadgroup memory: h = (residual + rms_norm(x) * residual_gain) * residual_scale, which is also stored in `h` if
 * `stores_h`; then its norm. x, residual and h point to the row. All kRowThreads threads call it; when it returns, the row is complete for
 * all of them.
 */
template <typename Row>
inline void prepare_row(constant LinearParams& p,
                        uint residual_gain_shift,
                        uint norm_gain_shift,
                        device const float* x,
                        device const float* residual,
                        device const uchar* residual_gain,
                        device float* h,
                        bool stores_h,
                        device const uchar* norm_gain,
                        Row row,
                        threadgroup float* partial,
                        uint thread_index) {
  if (p.has_residual != 0) {
    const float factor = vector_factor(DeviceVector{x}, p.in, p.eps, partial, thread_index);
    for (uint i = thread_index; i < p.in; i += kRowThreads) {
      const float gain = load_scalar(residual_gain + residual_gain_shift, p.residual_gain_type, i);
      const float value = (residual[i] + x[i] * factor * gain) * p.residual_scale;
      row.values[row.place(i)] = value;
      if (stores_h) h[i] = value;
    }
  } else {
    for (uint i = thread_index; i < p.in; i += kRowThreads) row.values[row.place(i)] = x[i];
  }
  const uint padded = row.padded_width();
  for (uint i = p.in + thread_index; i < padded; i += kRowThreads) row.values[row.place(i)] = 0.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (p.has_norm == 0) return;

  const float factor = vector_factor(row, p.in, p.eps, partial, thread_index);
  // Other simdgroups may still read the row for their sum.
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_index; i < p.in; i += kRowThreads) {
    const float gain = load_scalar(norm_gain + norm_gain_shift, p.norm_gain_type, i);
    row.values[row.place(i)] = row.at(i) * factor * gain;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}
