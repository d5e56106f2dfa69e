#pragma once

/**
 * Products of rows with the rows of stored weights, by one simdgroup. Metal only; the including file has metal_stdlib,
 * scalar_type.h, metal_storage.h and metal_math.h.
 *
 * A weight row is cut into chunks of columns; lane l takes chunks l, l + 32, ... and the sums of the lanes are added up. The order of a sum
 * depends only on the shape of the weight: the bits are the same for any number of rows, and for rows that were prepared in threadgroup
 * memory.
 */

#pragma METAL fp contract(off)

/** Formats other than affine codes, whose formats are their widths, 2 to 8: small floats, then plain numbers. */
constant constexpr int kFormatMxfp4 = 10;
constant constexpr int kFormatMxfp8 = 11;
constant constexpr int kFormatNvfp4 = 12;
constant constexpr int kFormatBf16 = 16;
constant constexpr int kFormatF16 = 17;
constant constexpr int kFormatF32 = 32;

/** Columns of a chunk: 32 codes are whole words; 8 values of 16 bits are one load of 16 bytes. */
template <int format>
constexpr uint chunk_columns() {
  return format < kFormatBf16 ? 32 : 8;
}

/** Bits of a code or an element; 8 for plain numbers, which have none. */
template <int format>
constexpr int code_bits() {
  return format <= 8 ? format : format == kFormatMxfp4 || format == kFormatNvfp4 ? 4 : 8;
}

/** True for small floats: elements and scales without biases. */
template <int format>
constexpr bool is_small_float() {
  return format > 8 && format < kFormatBf16;
}

/** The number that a code stands for, divided by number_factor. */
template <int format>
inline float number_of(uint code) {
  if (format == kFormatMxfp8) return scaled_e4m3(code);
  return is_small_float<format>() ? scaled_e2m1(code) : float(code);
}
template <int format>
constexpr float number_factor() {
  return format <= 8 ? 1.0f : format == kFormatMxfp8 ? 256.0f : 16384.0f;
}

/** A row of a stored weight. */
struct WeightRow {
  device const uchar* data;
  device const uchar* scales;  ///< of the first group of the row
  device const uchar* biases;
};

/** How the rows of a weight are stored. */
struct WeightLayout {
  uint in;
  uint group;
  uint scale_type;
  uint alignment;
};

/** Row `row` of a weight. */
template <int format>
inline WeightRow weight_row(
    device const uchar* weight, device const uchar* scales, device const uchar* biases, WeightLayout layout, ulong row) {
  if (format < kFormatBf16) {
    const ulong groups = row * (layout.in / layout.group);
    const ulong first = is_small_float<format>() ? groups : groups * (layout.scale_type == kScalarF32 ? 4 : 2);
    return {weight + row * layout.in * code_bits<format>() / 8, scales + first, is_small_float<format>() ? biases : biases + first};
  }
  return {weight + row * layout.in * (format == kFormatF32 ? 4 : 2), scales, biases};
}

/** Columns column .. column + 8 of a plain row, zeros beyond its end. */
template <int format>
inline void load_plain(WeightRow row, WeightLayout layout, uint column, thread float4* out) {
  if (layout.alignment >= 16 && column + 8 <= layout.in) {
    if (format == kFormatF32) {
      device const float4* at = (device const float4*)row.data + column / 4;
      out[0] = at[0];
      out[1] = at[1];
      return;
    }
    const uint4 words = ((device const uint4*)row.data)[column / 8];
    if (format == kFormatBf16) {
      out[0] = as_type<float4>(uint4(words.x << 16, words.x & 0xffff0000u, words.y << 16, words.y & 0xffff0000u));
      out[1] = as_type<float4>(uint4(words.z << 16, words.z & 0xffff0000u, words.w << 16, words.w & 0xffff0000u));
    } else {
      out[0] = float4(as_type<half4>(words.xy));
      out[1] = float4(as_type<half4>(words.zw));
    }
    return;
  }
  const uint type = format == kFormatF32 ? kScalarF32 : format == kFormatBf16 ? kScalarBf16 : kScalarF16;
  float values[8];
  for (uint i = 0; i < 8; ++i) values[i] = column + i < layout.in ? load_scalar(row.data, type, column + i) : 0.0f;
  out[0] = float4(values[0], values[1], values[2], values[3]);
  out[1] = float4(values[4], values[5], values[6], values[7]);
}

/** Rows in device memory; beyond the end, the last one is repeated. */
struct DeviceRows {
  device const float* rows;
  uint stride;
  uint last;
  uint width;
  uint alignment;

  /** True if whole_quad may be used for all of columns column .. column + count. */
  bool is_whole(uint column, uint count) const { return alignment >= 16 && column + count <= width; }
  float4 whole_quad(uint row, uint column) const { return *(device const float4*)(rows + ulong(min(row, last)) * stride + column); }
  /** Elements column .. column + 4 of a row, zeros beyond its end. */
  float4 quad(uint row, uint column) const {
    device const float* at = rows + ulong(min(row, last)) * stride + column;
    if (alignment >= 16 && column + 4 <= width) return *(device const float4*)at;
    float values[4];
    for (uint i = 0; i < 4; ++i) values[i] = column + i < width ? at[i] : 0.0f;
    return float4(values[0], values[1], values[2], values[3]);
  }
};

/**
 * One row in threadgroup memory, padded with zeros to whole chunks: the quads with the same index in all chunks are contiguous, so that
 * lanes read adjacent addresses.
 */
template <uint columns>
struct SharedRow {
  threadgroup float* values;
  uint chunks;

  static uint chunks_of(uint width) { return (width + columns - 1) / columns; }
  uint place(uint i) const { return (i % columns / 4 * chunks + i / columns) * 4 + i % 4; }
  uint padded_width() const { return chunks * columns; }
  float at(uint i) const { return values[place(i)]; }
  bool is_whole(uint, uint) const { return true; }
  float4 whole_quad(uint, uint column) const {
    return ((threadgroup const float4*)values)[column % columns / 4 * chunks + column / columns];
  }
  float4 quad(uint row, uint column) const { return whole_quad(row, column); }
};

/** Adds the products of a group of small floats, times its scales, to the sums, and begins the next group. */
template <int format, int streams, int rows>
inline void add_group(thread const WeightRow* weight, uint group, thread float4* parts, thread float* sums) {
  for (int s = 0; s < streams; ++s) {
    const float scale = load_small_scale(weight[s].scales, format == kFormatNvfp4, group);
    for (int r = 0; r < rows; ++r) {
      const float4 part = parts[s * rows + r];
      const float weighted = ((part.x + part.y) + (part.z + part.w)) * number_factor<format>();
      sums[s * rows + r] = fma(scale, weighted, sums[s * rows + r]);
      parts[s * rows + r] = float4(0.0f);
    }
  }
}

/** Replaces each of `count` values by its sum over the lanes, four at a time. */
template <int count>
inline void sum_lanes(thread float* values) {
  static_assert(count % 4 == 0, "sums are taken four at a time");
  for (int i = 0; i < count; i += 4) {
    const float4 total = simd_sum(float4(values[i], values[i + 1], values[i + 2], values[i + 3]));
    for (int k = 0; k < 4; ++k) values[i + k] = total[k];
  }
}

/**
 * sums[s][r] = x_{first + r} · weight_s, in every lane of a simdgroup.
 *
 * `X`: DeviceRows or SharedRow. Each stream and row has four independent sums.
 */
template <int format, int streams, int rows, typename X>
inline void multiply(thread const WeightRow* weight, WeightLayout layout, X x, uint first, uint lane, thread float* sums) {
  constexpr uint columns = chunk_columns<format>();
  const uint chunks = (layout.in + columns - 1) / columns;
  float4 parts[streams * rows];
  for (int i = 0; i < streams * rows; ++i) {
    parts[i] = float4(0.0f);
    sums[i] = 0.0f;
  }
  for (uint chunk = lane; chunk < chunks; chunk += kLanes) {
    const uint column = chunk * columns;
    if (format >= kFormatBf16) {
      float4 w[streams * 2];
      for (int s = 0; s < streams; ++s) load_plain<format>(weight[s], layout, column, w + 2 * s);
      for (int q = 0; q < 2; ++q) {
        for (int r = 0; r < rows; ++r) {
          const float4 value = x.quad(first + r, column + 4 * q);
          for (int s = 0; s < streams; ++s) parts[s * rows + r] = fma(w[2 * s + q], value, parts[s * rows + r]);
        }
      }
      continue;
    }
    constexpr int bits = code_bits<format>();
    // Quads of columns that share a scale.
    constexpr int group_quads = format == kFormatNvfp4 ? 4 : 8;
    float4 total[rows];
    for (int i = 0; i < streams * rows; ++i) parts[i] = float4(0.0f);
    for (int r = 0; r < rows; ++r) total[r] = float4(0.0f);
    if (x.is_whole(column, columns)) {
      uint words[streams * bits];
      for (int s = 0; s < streams; ++s) {
        load_words<bits>(weight[s].data + ulong(chunk) * bits * 4, layout.alignment, words + s * bits);
      }
#pragma unroll
      for (int q = 0; q < 8; ++q) {
        float4 value[rows];
        for (int r = 0; r < rows; ++r) {
          value[r] = x.whole_quad(first + r, column + 4 * q);
          total[r] += value[r];
        }
#pragma unroll
        for (int s = 0; s < streams; ++s) {
          thread const uint* code = words + s * bits;
          const float4 codes =
              float4(number_of<format>(whole_code_at<bits>(code, 4 * q)), number_of<format>(whole_code_at<bits>(code, 4 * q + 1)),
                     number_of<format>(whole_code_at<bits>(code, 4 * q + 2)), number_of<format>(whole_code_at<bits>(code, 4 * q + 3)));
          for (int r = 0; r < rows; ++r) parts[s * rows + r] = fma(codes, value[r], parts[s * rows + r]);
        }
        if (is_small_float<format>() && q % group_quads == group_quads - 1) {
          add_group<format, streams, rows>(weight, (column + 4 * q) / layout.group, parts, sums);
        }
      }
    } else {
      // Unaligned rows are rare: this branch is short code that leaves registers to the other one.
#pragma unroll(1)
      for (int q = 0; q < 8; ++q) {
        float4 value[rows];
        for (int r = 0; r < rows; ++r) {
          value[r] = x.quad(first + r, column + 4 * q);
          total[r] += value[r];
        }
        for (int s = 0; s < streams; ++s) {
          const ulong at = column + 4 * q;
          const float4 codes = float4(
              number_of<format>(stored_code(weight[s].data, bits, at)), number_of<format>(stored_code(weight[s].data, bits, at + 1)),
              number_of<format>(stored_code(weight[s].data, bits, at + 2)), number_of<format>(stored_code(weight[s].data, bits, at + 3)));
          for (int r = 0; r < rows; ++r) parts[s * rows + r] = fma(codes, value[r], parts[s * rows + r]);
        }
        if (is_small_float<format>() && q % group_quads == group_quads - 1) {
          add_group<format, streams, rows>(weight, (column + 4 * q) / layout.group, parts, sums);
        }
      }
    }
    if (is_small_float<format>()) continue;
    const uint group = column / layout.group;
    for (int s = 0; s < streams; ++s) {
      const float scale = load_scalar(weight[s].scales, layout.scale_type, group);
      const float bias = load_scalar(weight[s].biases, layout.scale_type, group);
      for (int r = 0; r < rows; ++r) {
        const float4 part = parts[s * rows + r];
        const float weighted = (part.x + part.y) + (part.z + part.w);
        const float plain = (total[r].x + total[r].y) + (total[r].z + total[r].w);
        sums[s * rows + r] = fma(scale, weighted, fma(bias, plain, sums[s * rows + r]));
      }
    }
  }
  if (format >= kFormatBf16) {
    for (int i = 0; i < streams * rows; ++i) sums[i] = (parts[i].x + parts[i].y) + (parts[i].z + parts[i].w);
  }
  sum_lanes<streams * rows>(sums);
}
