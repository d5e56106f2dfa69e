#pragma once

/**
 * Rows for products of bytes: fixed-point numbers with a step per 64 columns. Two planes of signed bytes, 256 high + low, give 15 bits; one
 * plane gives 8 bits. The including file has packed_rows.h and what that file needs.
 *
 * A span of 64 columns has 16 words of the high plane, then 16 of the low one; or 16 of the only plane. Of every eight columns, even ones
 * come first, then odd ones, to match 4-bit codes in the low and high halves of the bytes of a word.
 */

#pragma METAL fp contract(off)

/** Words per plane of a span. */
constant constexpr uint kPlaneWords = 16;

/** 1.5 × 2^23: adding a number to it rounds the number to an integer in the low bits of the sum. */
constant constexpr float kRoundingNumber = 12582912.0f;

/** One row in threadgroup memory, with two planes: the words, then the step of every span, then the sum of its rounded numbers. */
struct SharedBytes {
  static constexpr uint planes = 2;
  threadgroup uint* words;
  uint in;

  void store(uint at, uint word) const { words[at] = word; }
  void store_span(uint span, float step, float total) const {
    threadgroup float* steps = (threadgroup float*)words + in / 2;
    steps[span] = step;
    steps[in / kSpan + span] = total;
  }
  uint4 words_at(uint, uint at) const { return *(threadgroup const uint4*)(words + at); }
  float step_of(uint, uint span) const { return ((threadgroup const float*)words)[in / 2 + span]; }
  float total_of(uint, uint span) const { return ((threadgroup const float*)words)[in / 2 + in / kSpan + span]; }
};

/** Rows in device memory: the words of all rows, then steps [in / 64, rows] and sums [in / 64, rows]. */
template <uint planes>
struct DeviceBytes {
  device uint* words;
  uint in;
  uint rows;

  device uint* row(uint index) const { return words + ulong(index) * (in / 4 * planes); }
  device float* steps() const { return (device float*)row(rows); }
  device float* totals() const { return steps() + rows * (in / kSpan); }
  uint4 words_at(uint row, uint at) const { return *(device const uint4*)(this->row(row) + at); }
  float step_of(uint row, uint span) const { return steps()[span * rows + row]; }
  float total_of(uint row, uint span) const { return totals()[span * rows + row]; }
};

/** A row of DeviceBytes for writing. */
template <uint plane_count>
struct DeviceBytesRow {
  static constexpr uint planes = plane_count;
  DeviceBytes<planes> pack;
  uint row;
  void store(uint at, uint word) const { pack.row(row)[at] = word; }
  void store_span(uint span, float step, float total) const {
    pack.steps()[span * pack.rows + row] = step;
    pack.totals()[span * pack.rows + row] = total;
  }
};

/** Writes rows for pack_row. `Pack`: SharedBytes or DeviceBytesRow. */
template <typename Pack>
struct ByteWriter {
  Pack pack;

  static uint padded(uint quads) { return quads; }
  /** Stores four adjacent elements of a row, nothing beyond its end. All lanes of a simdgroup call it, with consecutive quads. */
  void put(uint quad, uint quads, float4 value) const {
    float largest = max(max(abs(value.x), abs(value.y)), max(abs(value.z), abs(value.w)));
    for (ushort distance = 1; distance < 16; distance *= 2) largest = max(largest, simd_shuffle_xor(largest, distance));
    // With two planes, the largest number becomes 2^13 to 2^14 steps; with one, 127.
    constexpr bool is_fine = Pack::planes == 2;
    const uint exponent = max(as_type<uint>(largest) >> 23, 14u);
    const float inverse = is_fine ? as_type<float>((267u - exponent) << 23) : largest > 0.0f ? 127.0f / largest : 0.0f;
    const float step = is_fine ? as_type<float>((exponent - 13u) << 23) : largest / 127.0f;
    uint bits[4];
    float total = 0.0f;
#pragma unroll
    for (uint k = 0; k < 4; ++k) {
      const float rounded = value[k] * inverse + kRoundingNumber;
      bits[k] = as_type<uint>(rounded) + (is_fine ? 128u : 0u);
      // The sum of the rounded numbers, for the bias that offsets unsigned codes. A non-finite element makes the sum non-finite.
      total += rounded - kRoundingNumber;
    }
    for (ushort distance = 1; distance < 16; distance *= 2) total += simd_shuffle_xor(total, distance);
    // Low bytes of two columns, then high bytes: low bytes do not carry into high ones.
    const uint mask = is_fine ? 0x8080u : 0u;
    const uint even = nvidia::select_bytes(bits[0], bits[2], 0x5140) ^ mask, odd = nvidia::select_bytes(bits[1], bits[3], 0x5140) ^ mask;
    const bool is_second = quad % 2 != 0;
    const uint got = simd_shuffle_xor(is_second ? even : odd, ushort(1));
    const uint first = is_second ? got : even, second = is_second ? odd : got;
    if (quad >= quads) return;
    const uint at = quad / 16 * (kPlaneWords * Pack::planes) + quad % 16;
    if (is_fine) pack.store(at, nvidia::select_bytes(first, second, 0x7632));
    pack.store(at + (is_fine ? kPlaneWords : 0), nvidia::select_bytes(first, second, 0x5410));
    if (quad % 16 == 0) pack.store_span(quad / 16, step, step * total);
  }
};

/** Writes a row for linear_stream, or zeros for rows beyond the last one that pad a kernel's rows. */
template <uint planes, uint threads>
inline void pack_bytes(constant LinearParams& p,
                       constant Launch& launch,
                       PackSource source,
                       DeviceBytesRow<planes> out,
                       threadgroup float* partial,
                       uint thread_index) {
  if (out.row < launch.rows) return pack_row<threads>(p, source, ByteWriter<DeviceBytesRow<planes>>{out}, partial, thread_index);
  for (uint at = thread_index; at < p.in / 4 * planes; at += threads) out.store(at, 0);
  for (uint span = thread_index; span < p.in / kSpan; span += threads) out.store_span(span, 0.0f, 0.0f);
}
