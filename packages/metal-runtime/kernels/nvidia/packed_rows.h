#pragma once

/**
 * Rows in the layout of the tensor cores: bf16 pairs, and the sum of every 64 columns of rounded values. The including file has
 * metal_stdlib, launch.h, linear_params.h, scalar_type.h, metal_storage.h and metal_math.h.
 *
 * A row has in / 64 spans of four times eight words: lane l of a product takes the words of its quarter, l % 4. For 4-bit weights, columns
 * c and c + 4 of every eight form a pair, to match the codes in a word; otherwise adjacent columns do.
 */

#pragma METAL fp contract(off)

/** Columns of a span. */
constant constexpr uint kSpan = 64;

/** The first four 4-bit codes of `word >> 8 m` as bf16, 128 + code: columns 0 and 4 of eight, then 1 and 5. */
inline void four_bit_pairs(uint word, thread uint& first, thread uint& second) {
  first = nvidia::masked_or(word, 0x000f000fu, 0x43004300u);
  second = nvidia::masked_or(word >> 4, 0x000f000fu, 0x43004300u);
}

/** Maximum number of columns of a row with a norm, which is kept in the registers of a threadgroup. */
constant constexpr uint kMaxNormedColumns = 6144;
/** Quads of columns that a thread loads together. */
template <uint threads>
constexpr uint quads_ahead() {
  return kMaxNormedColumns / 4 / threads;
}

/** Four bf16 values. */
inline float4 bf16_quad(uint2 words) {
  return as_type<float4>(uint4(words.x << 16, words.x & 0xffff0000u, words.y << 16, words.y & 0xffff0000u));
}

/** A packed row in threadgroup memory: in / 2 words, followed by the sums. */
struct SharedPack {
  threadgroup uint* words;
  uint in;

  void store(uint quad, uint2 pair) const { ((threadgroup uint2*)words)[quad] = pair; }
  void store_total(uint span, float total) const { ((threadgroup float*)words)[in / 2 + span] = total; }

  /** A lane's read position from a span on. */
  struct Cursor {
    threadgroup const uint4* words;
    threadgroup const float* sums;

    /** The words of span `offset` from there on. */
    void load(uint offset, uint, thread uint (&out)[8]) const {
      const uint4 low = words[offset * 8], high = words[offset * 8 + 1];
      out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
      out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
    }
    /** Sums of two rows: there is only one row, which is returned for both. */
    float2 totals(uint offset, uint) const { return float2(sums[offset], sums[offset]); }
  };
  Cursor cursor(uint span, uint, uint lane) const {
    return {(threadgroup const uint4*)words + (span * 4 + lane % 4) * 2, (threadgroup const float*)words + in / 2 + span};
  }
};

/** Packed rows in device memory: `rows` of them, a multiple of eight, followed by the sums, [in / 64, rows]. */
struct DevicePack {
  device uint* words;
  uint in;
  uint rows;

  void store(uint row, uint quad, uint2 pair) const { ((device uint2*)words)[ulong(row) * (in / 4) + quad] = pair; }
  void store_total(uint row, uint span, float total) const { sums()[ulong(span) * rows + row] = total; }
  device float* sums() const { return (device float*)words + ulong(rows) * (in / 2); }

  /** A lane's read position from a span on: its row of every eight, and the sums of two rows. */
  struct Cursor {
    device const uint4* words;
    device const float* sums;
    uint block_words;
    uint rows;

    /** The words of span `offset` from there on, of block `block` of eight rows. */
    void load(uint offset, uint block, thread uint (&out)[8]) const {
      device const uint4* at = words + block * block_words + offset * 8;
      const uint4 low = at[0], high = at[1];
      out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
      out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
    }
    float2 totals(uint offset, uint block) const { return *(device const float2*)(sums + offset * rows + 8 * block); }
  };
  Cursor cursor(uint span, uint first_row, uint lane) const {
    return {(device const uint4*)words + ulong(first_row + lane / 4) * (in / 8) + (span * 4 + lane % 4) * 2,
            sums() + ulong(span) * rows + first_row + lane % 4 * 2, in, rows};
  }
};

/** A row of DevicePack for writing. */
struct DevicePackRow {
  DevicePack pack;
  uint row;
  void store(uint quad, uint2 pair) const { pack.store(row, quad, pair); }
  void store_total(uint span, float total) const { pack.store_total(row, span, total); }
};

/** Writes rows as bf16 pairs. `Pack`: SharedPack or DevicePackRow; `interleaves`: for 4-bit codes. */
template <bool interleaves, typename Pack>
struct PairWriter {
  Pack pack;

  static uint padded(uint quads) { return quads; }
  /** Stores four adjacent elements of a row, nothing beyond its end. All lanes of a simdgroup call it, with consecutive quads. */
  void put(uint quad, uint quads, float4 value) const {
    uint low = nvidia::bf16_pair(value.x, value.y), high = nvidia::bf16_pair(value.z, value.w);
    const float4 rounded = bf16_quad(uint2(low, high));
    float total = (rounded.x + rounded.y) + (rounded.z + rounded.w);
    for (ushort step = 1; step < 16; step *= 2) total += simd_shuffle_xor(total, step);
    if (interleaves) {
      const bool is_second = quad % 2 != 0;
      const uint got = simd_shuffle_xor(is_second ? low : high, ushort(1));
      const uint first = is_second ? got : low, second = is_second ? high : got;
      low = (first & 0xffffu) | second << 16;
      high = first >> 16 | (second & 0xffff0000u);
    }
    if (quad >= quads) return;
    pack.store(quad, uint2(low, high));
    if (quad % 16 == 0) pack.store_total(quad / 16, total);
  }
};

/** Sum of squares of a thread's quads. */
template <uint count>
inline float squares_of(thread const float4* values) {
  float squares = 0.0f;
#pragma unroll
  for (uint j = 0; j < count; ++j) {
    squares = fma(values[j].x, values[j].x, squares);
    squares = fma(values[j].y, values[j].y, squares);
    squares = fma(values[j].z, values[j].z, squares);
    squares = fma(values[j].w, values[j].w, squares);
  }
  return squares;
}

/** Inputs and outputs of the prologue of a linear for one row. */
struct PackSource {
  device const float* x;
  device const float* residual;
  device const uchar* residual_gain;
  device float* h;
  device const uchar* norm_gain;
  bool stores_h;
};

/**
 * Writes a row as it is multiplied: h = (residual + rms_norm(x) residual_gain) residual_scale, which is stored in `h` if `stores_h`; then
 * its norm. `out` has put(), and padded(quads), the number of quads that it expects for a row of `quads`. Gains are bf16. All `threads` of
 * the threadgroup call it, with at most kAhead quads each of a row with a norm; a barrier must follow before the row is read.
 */
template <uint threads = kRowThreads, uint kAhead = quads_ahead<threads>(), typename Out>
inline void pack_row(constant LinearParams& p, PackSource source, Out out, threadgroup float* partial, uint thread_index) {
  const uint quads = p.in / 4;
  if (p.has_residual == 0 && p.has_norm == 0) {
    for (uint begin = 0; begin < quads; begin += kAhead * threads) {
      float4 values[kAhead];
#pragma unroll
      for (uint j = 0; j < kAhead; ++j) {
        const uint quad = begin + j * threads + thread_index;
        values[j] = float4(0.0f);
        if (quad < quads) values[j] = ((device const float4*)source.x)[quad];
      }
#pragma unroll
      for (uint j = 0; j < kAhead; ++j) {
        const uint quad = begin + j * threads + thread_index;
        if (begin + j * threads < quads) out.put(quad, quads, values[j]);
      }
    }
    return;
  }
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  float4 values[kAhead], residuals[kAhead];
  uint2 gains[kAhead], residual_gains[kAhead];
#pragma unroll
  for (uint j = 0; j < kAhead; ++j) {
    const uint quad = j * threads + thread_index;
    values[j] = residuals[j] = float4(0.0f);
    gains[j] = residual_gains[j] = uint2(0);
    if (quad >= quads) continue;
    values[j] = ((device const float4*)source.x)[quad];
    if (p.has_residual != 0) {
      residuals[j] = ((device const float4*)source.residual)[quad];
      residual_gains[j] = ((device const uint2*)source.residual_gain)[quad];
    }
    if (p.has_norm != 0) gains[j] = ((device const uint2*)source.norm_gain)[quad];
  }
  if (p.has_residual != 0) {
    const float factor = norm_factor(sum_over_threads<threads / kLanes>(squares_of<kAhead>(values), partial, simdgroup, lane), p.in, p.eps);
#pragma unroll
    for (uint j = 0; j < kAhead; ++j) {
      values[j] = (residuals[j] + values[j] * factor * bf16_quad(residual_gains[j])) * p.residual_scale;
      const uint quad = j * threads + thread_index;
      if (source.stores_h && quad < quads) ((device float4*)source.h)[quad] = values[j];
    }
  }
  if (p.has_norm != 0) {
    const float factor = norm_factor(sum_over_threads<threads / kLanes>(squares_of<kAhead>(values), partial, simdgroup, lane), p.in, p.eps);
#pragma unroll
    for (uint j = 0; j < kAhead; ++j) values[j] = values[j] * factor * bf16_quad(gains[j]);
  }
#pragma unroll
  for (uint j = 0; j < kAhead; ++j) {
    if (j * threads < Out::padded(quads)) out.put(j * threads + thread_index, quads, values[j]);
  }
}
