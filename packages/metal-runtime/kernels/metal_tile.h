#pragma once

/**
 * Products of 32 rows with 64 weight rows by a threadgroup of four simdgroups, as bf16 or half matrices with float32 sums.
 * Metal only; the including file has metal_stdlib, scalar_type.h, metal_storage.h, metal_math.h, metal_matrix.h and metal_fragments.h.
 *
 * Rows and weights go through threadgroup memory in steps of 32 columns, where weights are dequantised. A sum runs over the
 * columns in ascending order, whatever the number of rows: a row gives the same bits in any tile.
 */

#pragma METAL fp contract(off)

constant constexpr uint kTileRows = 32;
constant constexpr uint kTileOutputs = 64;
constant constexpr uint kTileColumns = 32;
constant constexpr uint kTileThreads = 128;

/** Elements between two rows of a tile: adjacent rows begin in different banks. */
constant constexpr uint kTileStride = kTileColumns + 8;

/** Row of the tile that a thread loads: 8 of its 32 columns. */
inline uint tile_row(uint thread_index) { return thread_index / 4; }

/** Weight row of the tile that a thread loads: 16 of its 32 columns, the same half in all of a simdgroup. */
inline uint tile_output(uint thread_index) { return thread_index % kTileOutputs; }

/** Columns column .. column + 16 of a weight row, as floats; `half_of` 0 or 1: which half of a chunk of 32. */
template <int format>
inline void load_half_chunk(WeightRow row, WeightLayout layout, uint column, uint half_of, thread float* out) {
  if (format >= kFormatBf16) {
    float4 quads[4];
    load_plain<format>(row, layout, column, quads);
    load_plain<format>(row, layout, column + 8, quads + 2);
    for (uint i = 0; i < 4; ++i) {
      out[4 * i] = quads[i].x;
      out[4 * i + 1] = quads[i].y;
      out[4 * i + 2] = quads[i].z;
      out[4 * i + 3] = quads[i].w;
    }
    return;
  }
  constexpr int bits = code_bits<format>();
  uint words[bits];
  load_words<bits>(row.data + ulong(column / 32) * bits * 4, layout.alignment, words);
  if (is_small_float<format>()) {
    const float scale = load_small_scale(row.scales, format == kFormatNvfp4, column / layout.group);
    if (half_of == 0) {
#pragma unroll
      for (int i = 0; i < 16; ++i) out[i] = number_of<format>(whole_code_at<bits>(words, i)) * number_factor<format>() * scale;
    } else {
#pragma unroll
      for (int i = 0; i < 16; ++i) out[i] = number_of<format>(whole_code_at<bits>(words, 16 + i)) * number_factor<format>() * scale;
    }
    return;
  }
  const float scale = load_scalar(row.scales, layout.scale_type, column / layout.group);
  const float bias = load_scalar(row.biases, layout.scale_type, column / layout.group);
  if (half_of == 0) {
#pragma unroll
    for (int i = 0; i < 16; ++i) out[i] = fma(code_at<bits>(words, i), scale, bias);
  } else {
#pragma unroll
    for (int i = 0; i < 16; ++i) out[i] = fma(code_at<bits>(words, 16 + i), scale, bias);
  }
}

/**
 * A thread's part of copying columns column .. column + 32 of the tile to threadgroup memory: 8 columns of its row, which is row `own_row`
 * of `source`, and 16 of its weight row. `stride`: elements between two rows of a tile.
 */
template <int format, uint stride, typename T>
inline void load_tile(DeviceRows source,
                      uint own_row,
                      WeightRow weights,
                      WeightLayout layout,
                      uint column,
                      uint thread_index,
                      threadgroup T* rows,
                      threadgroup T* columns) {
  const uint row = tile_row(thread_index), row_column = thread_index % 4 * 8;
  for (uint i = 0; i < 2; ++i) {
    const float4 quad = source.quad(own_row, column + row_column + 4 * i);
    threadgroup T* to = rows + row * stride + row_column + 4 * i;
    to[0] = T(quad.x);
    to[1] = T(quad.y);
    to[2] = T(quad.z);
    to[3] = T(quad.w);
  }
  const uint output = tile_output(thread_index), half_of = thread_index / kTileOutputs;
  float values[16];
  load_half_chunk<format>(weights, layout, column + 16 * half_of, half_of, values);
  for (uint i = 0; i < 16; ++i) columns[output * stride + 16 * half_of + i] = T(values[i]);
}

/**
 * products [32, 64] = the rows of the tile times its weight rows, complete for all threads on return. Every thread passes the row `own_row`
 * of `source` and the weight row that it loads. At most the first `row_count` rows are needed.
 */
template <int format, typename T>
inline void multiply_tile(DeviceRows source,
                          uint own_row,
                          uint row_count,
                          WeightRow weights,
                          WeightLayout layout,
                          threadgroup T* rows,
                          threadgroup T* columns,
                          threadgroup float* products,
                          uint thread_index) {
  // A simdgroup computes 16 rows × 32 outputs.
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint first_row = simdgroup / 2 * 16, first_output = simdgroup % 2 * 32;
  SumFragment sums[4];
  for (uint j = 0; j < 4; ++j) clear(sums[j]);
  for (uint column = 0; column < layout.in; column += kTileColumns) {
    load_tile<format, kTileStride>(source, own_row, weights, layout, column, thread_index, rows, columns);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < kTileColumns && first_row < row_count; k += 16) {
      RowFragment<T> a;
      load_rows(a, rows + first_row * kTileStride + k, kTileStride, lane);
      for (uint j = 0; j < 4; ++j) {
        OutputFragment<T> b;
        load_outputs(b, columns + (first_output + 8 * j) * kTileStride + k, kTileStride, lane);
        add_product(sums[j], a, b);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint j = 0; j < 4; ++j) store_sums(sums[j], products + first_row * kTileOutputs + first_output + 8 * j, kTileOutputs, lane);
  threadgroup_barrier(mem_flags::mem_threadgroup);
}
