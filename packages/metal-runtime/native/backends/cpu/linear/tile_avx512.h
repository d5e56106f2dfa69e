#pragma once

#include <initializer_list>

#include "int8_row.h"
#include "simd_avx512.h"
#include "weight_row.h"

namespace markbase::cpu {
namespace {

/** Transposes a 16 x 16 matrix of 32-bit numbers held in 16 registers. */
inline void transpose16(__m512i (&row)[16]) {
  __m512i pair[16];
  for (int i = 0; i < 16; i += 2) {
    pair[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
    pair[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
  }
  // four[4 q + c]: rows 4 q .. 4 q + 3 of column c, c + 4, c + 8, c + 12 in the four 128-bit lanes.
  __m512i four[16];
  for (int q = 0; q < 16; q += 4) {
    four[q] = _mm512_unpacklo_epi64(pair[q], pair[q + 2]);
    four[q + 1] = _mm512_unpackhi_epi64(pair[q], pair[q + 2]);
    four[q + 2] = _mm512_unpacklo_epi64(pair[q + 1], pair[q + 3]);
    four[q + 3] = _mm512_unpackhi_epi64(pair[q + 1], pair[q + 3]);
  }
  for (int c = 0; c < 4; ++c) {
    const __m512i low0 = _mm512_shuffle_i32x4(four[c], four[4 + c], 0x88);        // columns c, c + 8 of rows 0 .. 7
    const __m512i low1 = _mm512_shuffle_i32x4(four[c], four[4 + c], 0xdd);        // columns c + 4, c + 12
    const __m512i high0 = _mm512_shuffle_i32x4(four[8 + c], four[12 + c], 0x88);  // the same of rows 8 .. 15
    const __m512i high1 = _mm512_shuffle_i32x4(four[8 + c], four[12 + c], 0xdd);
    row[c] = _mm512_shuffle_i32x4(low0, high0, 0x88);
    row[c + 8] = _mm512_shuffle_i32x4(low0, high0, 0xdd);
    row[c + 4] = _mm512_shuffle_i32x4(low1, high1, 0x88);
    row[c + 12] = _mm512_shuffle_i32x4(low1, high1, 0xdd);
  }
}

/**
 * Cache lines of the next tile, prefetched a few at a time while the current one is multiplied: its rows are 32 short runs of memory, which
 * no hardware prefetcher follows.
 */
class LinesAhead {
 public:
  /** Adds `rows` runs of `bytes` bytes, `stride` apart; at most 3 such ranges. */
  void add(const uint8_t* first, size_t stride, uint32_t rows, size_t bytes) {
    const auto lines = static_cast<uint32_t>(bytes / 64 + 1);
    ranges_[range_count_++] = {first, stride, rows, lines};
    left_ += rows * lines;
  }
  uint32_t left() const { return left_; }

  void fetch(uint32_t count) {
    for (; count > 0 && left_ > 0; --count, --left_) {
      const Range& range = ranges_[range_];
      _mm_prefetch(ahead(range.first, row_ * range.stride + line_ * size_t{64}), _MM_HINT_T1);
      if (++line_ < range.lines) continue;
      line_ = 0;
      if (++row_ < range.rows) continue;
      row_ = 0;
      ++range_;
    }
  }

 private:
  struct Range {
    const uint8_t* first;
    size_t stride;
    uint32_t rows;
    uint32_t lines;
  };
  Range ranges_[3];
  uint32_t range_count_ = 0;
  uint32_t left_ = 0;
  uint32_t range_ = 0;
  uint32_t row_ = 0;
  uint32_t line_ = 0;
};

/**
 * Products of many 8-bit activation rows with affine weights, mxfp4 and nvfp4, lanes along the outputs. The sums are those of Int8Product.
 *
 * A tile of 32 weight rows x 1,024 columns is unpacked and transposed into scratch: one register of scratch holds 4
 * columns of 16 weight rows. Against it each activation row needs one vpdpbusd per 4 columns and 16 outputs, with 4 of
 * its codes broadcast; a whole unit (16, 32 or 64 columns) is summed in integers and then takes one conversion, one product
 * of scales and two fused multiply-adds. Six activation rows x 32 outputs keep 12 integer and 12 float accumulators in
 * registers and load 8 operands for 12 instructions. The tile is 32 KiB: it streams from the second-level cache in order,
 * which feeds two registers per 12 instructions with ease, and the accumulators pass through memory only every 1,024
 * columns.
 */
struct Avx512Tile {
  static constexpr bool kExists = true;
  static constexpr uint32_t kOutputs = 32;
  static constexpr uint32_t kColumns = 1024;
  static constexpr uint32_t kRows = 6;

  struct Scratch {
    uint8_t codes[kColumns / 4][kOutputs][4];
    float scale[kColumns / 16][kOutputs];
    float bias[kColumns / 16][kOutputs];
  };

  static size_t scratch_bytes(const WeightView&, uint32_t) { return sizeof(Scratch); }

  static void run(const WeightView& weight,
                  const void* prepared,
                  uint32_t rows,
                  uint32_t begin,
                  uint32_t end,
                  float* y,
                  size_t y_stride,
                  void* scratch) {
    visit_codes(weight, [&](auto codes, auto unit) {
      auto* tile = static_cast<Scratch*>(scratch);
      const auto* x = static_cast<const uint8_t*>(prepared);
      run_outputs<decltype(codes), decltype(unit)::kBits>(weight, x, rows, begin, end, y, y_stride, *tile);
    });
  }

 private:
  /** Which outputs and columns of the matrix a tile covers. */
  struct Piece {
    uint32_t first;    ///< output
    uint32_t count;    ///< outputs, 1 .. 32
    uint32_t column;   ///< first column
    uint32_t columns;  ///< 1 .. 1024
  };

  /** The prepared activation rows. */
  struct Rows {
    const uint8_t* prepared;
    size_t row_bytes;
    uint32_t in;
    bool is_fine;
    Int8Row row(uint32_t r) const { return int8_row(prepared + r * row_bytes, in, is_fine); }
  };

  template <class Codes, int Unit>
  static void run_outputs(const WeightView& weight,
                          const uint8_t* prepared,
                          uint32_t rows,
                          uint32_t begin,
                          uint32_t end,
                          float* y,
                          size_t y_stride,
                          Scratch& tile) {
    constexpr int Bits = Codes::kBits;
    const Rows x = {prepared, int8_row_bytes(weight.in, Unit == 16), weight.in, Unit == 16};
    for (Piece piece = first_piece(weight, begin, end); piece.count > 0;) {
      unpack<Codes, Unit>(weight, piece, 0, tile);
      if (piece.count > 16) unpack<Codes, Unit>(weight, piece, 16, tile);
      const Piece next = next_piece(weight, piece, end);
      LinesAhead lines = lines_of(weight, next);
      const uint32_t blocks = (rows + kRows - 1) / kRows;
      const uint32_t lines_per_unit = lines.left() / (blocks * (piece.columns / Unit)) + 1;
      for (uint32_t r = 0; r < rows; r += kRows) {
        float* target = y + r * y_stride + (piece.first - begin);
        const uint32_t count = smaller(rows - r, kRows);
        if (piece.count > 16) {
          run_rows<Bits, Unit, 2>(count, r, x, piece, tile, target, y_stride, lines, lines_per_unit);
        } else {
          run_rows<Bits, Unit, 1>(count, r, x, piece, tile, target, y_stride, lines, lines_per_unit);
        }
      }
      piece = next;
    }
  }

  static Piece first_piece(const WeightView& weight, uint32_t first, uint32_t end) {
    const uint32_t count = first < end ? smaller(end - first, kOutputs) : 0;
    return {first, count, 0, smaller(weight.in, kColumns)};
  }

  /** The next columns of the same outputs, or the next outputs; count = 0 after the last. */
  static Piece next_piece(const WeightView& weight, const Piece& piece, uint32_t end) {
    const uint32_t column = piece.column + piece.columns;
    if (column == weight.in) return first_piece(weight, piece.first + piece.count, end);
    return {piece.first, piece.count, column, smaller(weight.in - column, kColumns)};
  }

  static LinesAhead lines_of(const WeightView& weight, const Piece& piece) {
    LinesAhead lines;
    if (piece.count == 0) return lines;
    const size_t column_byte = size_t{piece.column} * weight.bits / 8;
    lines.add(weight_row(weight, piece.first) + column_byte, weight_row_bytes(weight), piece.count,
              size_t{piece.columns} * weight.bits / 8);
    if (piece.column > 0) return lines;
    const size_t row_bytes = size_t{weight.in / weight.group} * scale_bytes(weight);
    for (const void* base : {weight.scales, weight.biases}) {
      if (base == nullptr) continue;
      lines.add(static_cast<const uint8_t*>(base) + piece.first * row_bytes, 0, 1, piece.count * row_bytes);
    }
    return lines;
  }

  /** Fills the half of the tile from output `half` (0 or 16) on; outputs that do not exist repeat the last one. */
  template <class Codes, int Unit>
  static void unpack(const WeightView& weight, const Piece& piece, uint32_t half, Scratch& tile) {
    constexpr int Bits = Codes::kBits;
    uint32_t row[16];
    for (uint32_t i = 0; i < 16; ++i) row[i] = piece.first + smaller(half + i, piece.count - 1);
    unpack_scales<Codes::kIsE2m1, Unit>(weight, weight.scales, piece, row, half, tile.scale);
    if constexpr (Codes::kIsE2m1) {
      for (uint32_t unit = 0; unit < piece.columns / Unit; ++unit) {
        const __m512 scale = _mm512_mul_ps(_mm512_load_ps(&tile.scale[unit][half]), _mm512_set1_ps(0.5f));
        _mm512_store_ps(&tile.scale[unit][half], scale);
        _mm512_store_ps(&tile.bias[unit][half], _mm512_mul_ps(scale, _mm512_set1_ps(-kE2m1Zero)));
      }
    } else {
      unpack_scales<false, Unit>(weight, weight.biases, piece, row, half, tile.bias);
    }

    constexpr uint32_t kStep = Bits == 4 ? 128 : 64;  // columns of one register of codes
    const size_t stride = weight_row_bytes(weight);
    const uint8_t* source = weight_row(weight, 0) + size_t{piece.column} * Bits / 8;
    for (uint32_t k = 0; k < piece.columns; k += kStep, source += kStep * Bits / 8) {
      const uint32_t columns = smaller(piece.columns - k, kStep);
      const uint64_t mask = ~uint64_t{0} >> (64 - columns * Bits / 8);
      __m512i codes[16];
      for (int i = 0; i < 16; ++i) {
        const uint8_t* address = source + row[i] * stride;
        codes[i] = _mm512_maskz_loadu_epi8(mask, address);
        if constexpr (Bits != 4) codes[i] = Avx512Simd::spread_codes<Bits>(codes[i]);
      }
      transpose16(codes);
      if constexpr (Bits != 4) {
        for (uint32_t i = 0; i < 16; ++i) _mm512_store_si512(&tile.codes[k / 4 + i][half], codes[i]);
      } else {
        // Register i holds columns 8 i .. 8 i + 7. Per unit: first the even columns of all its registers, then the odd.
        constexpr uint32_t kRegisters = Unit / 8;
        for (uint32_t i = 0; i < 16; ++i) {
          const uint32_t place = k / 4 + i / kRegisters * (Unit / 4) + i % kRegisters;
          _mm512_store_si512(&tile.codes[place][half], Avx512Simd::nibbles<Codes::kIsE2m1>(codes[i]));
          const __m512i odd = _mm512_srli_epi16(codes[i], 4);
          _mm512_store_si512(&tile.codes[place + kRegisters][half], Avx512Simd::nibbles<Codes::kIsE2m1>(odd));
        }
      }
    }
  }

  template <bool IsE2m1, int Unit>
  static void unpack_scales(const WeightView& weight,
                            const void* base,
                            const Piece& piece,
                            const uint32_t (&row)[16],
                            uint32_t half,
                            float (&target)[kColumns / 16][kOutputs]) {
    const uint32_t groups = weight.in / weight.group;
    const uint32_t bytes = scale_bytes(weight);
    const uint32_t repeats = weight.group / Unit;  // a group of 128 is two units of 64
    const uint32_t count = piece.columns / weight.group;
    for (uint32_t g = 0; g < count; g += 16) {
      const auto* source = static_cast<const uint8_t*>(base) + (size_t{piece.column} / weight.group + g) * bytes;
      __m512i values[16];
      for (int i = 0; i < 16; ++i) {
        const uint8_t* address = source + size_t{row[i]} * groups * bytes;
        if constexpr (IsE2m1) values[i] = _mm512_castps_si512(load_small_scales<Avx512Simd, kE2m1Format<Unit>>(address, count - g));
        else values[i] = _mm512_castps_si512(Avx512Simd::load_scalars(weight.scale_type, address, smaller(count - g, 16)));
      }
      transpose16(values);
      for (uint32_t i = 0; i < smaller(count - g, 16); ++i) {
        for (uint32_t copy = 0; copy < repeats; ++copy) {
          _mm512_store_si512(&target[(g + i) * repeats + copy][half], values[i]);
        }
      }
    }
  }

  template <int Bits, int Unit, uint32_t Vectors, class... Arguments>
  static void run_rows(uint32_t count, Arguments&... arguments) {
    switch (count) {
      case 1: return multiply_rows<Bits, Unit, Vectors, 1>(arguments...);
      case 2: return multiply_rows<Bits, Unit, Vectors, 2>(arguments...);
      case 3: return multiply_rows<Bits, Unit, Vectors, 3>(arguments...);
      case 4: return multiply_rows<Bits, Unit, Vectors, 4>(arguments...);
      case 5: return multiply_rows<Bits, Unit, Vectors, 5>(arguments...);
      default: return multiply_rows<Bits, Unit, Vectors, 6>(arguments...);
    }
  }

  /** Offset from a unit's first code in a prepared row to the 4 codes that go with the unit's register j. */
  template <int Bits, int Unit>
  static constexpr uint32_t code_offset(uint32_t j) {
    if (Bits != 4 || j < Unit / 8) return 4 * j;
    return Avx512Simd::kNibbleBlock / 2 + 4 * (j - Unit / 8);
  }

  template <int Bits, int Unit, uint32_t Vectors, uint32_t Count>
  static void multiply_rows(uint32_t first_row,
                            const Rows& rows,
                            const Piece& piece,
                            const Scratch& tile,
                            float* y,
                            size_t y_stride,
                            LinesAhead& lines,
                            uint32_t lines_per_unit) {
    Int8Row x[Count];
    for (uint32_t r = 0; r < Count; ++r) x[r] = rows.row(first_row + r);
    __mmask16 mask[Vectors];
    for (uint32_t v = 0; v < Vectors; ++v) {
      mask[v] = static_cast<__mmask16>(0xffffu >> (16 - smaller(piece.count - 16 * v, 16)));
    }
    __m512 sum[Count][Vectors];
    for (uint32_t r = 0; r < Count; ++r) {
      for (uint32_t v = 0; v < Vectors; ++v) {
        sum[r][v] = piece.column == 0 ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask[v], y + r * y_stride + 16 * v);
      }
    }
    for (uint32_t unit = 0; unit < piece.columns / Unit; ++unit) {
      lines.fetch(lines_per_unit);
      // Even and odd columns are in separate halves of a block of 128.
      const uint32_t column = piece.column + unit * Unit;
      const uint32_t first_code = Bits == 4 ? column / 128 * 128 + column % 128 / 2 : column;
      __m512i dot[Count][Vectors];
      for (uint32_t r = 0; r < Count; ++r) {
        for (uint32_t v = 0; v < Vectors; ++v) dot[r][v] = _mm512_setzero_si512();
      }
#pragma GCC unroll 16
      for (uint32_t j = 0; j < Unit / 4; ++j) {
        __m512i codes[Vectors];
        for (uint32_t v = 0; v < Vectors; ++v) {
          codes[v] = _mm512_load_si512(&tile.codes[unit * (Unit / 4) + j][16 * v]);
        }
        for (uint32_t r = 0; r < Count; ++r) {
          const __m512i four = _mm512_set1_epi32(read_unaligned<int32_t>(x[r].codes + first_code + code_offset<Bits, Unit>(j)));
          for (uint32_t v = 0; v < Vectors; ++v) dot[r][v] = _mm512_dpbusd_epi32(dot[r][v], codes[v], four);
        }
      }
      for (uint32_t v = 0; v < Vectors; ++v) {
        const __m512 scale = _mm512_load_ps(&tile.scale[unit][16 * v]);
        const __m512 bias = _mm512_load_ps(&tile.bias[unit][16 * v]);
        for (uint32_t r = 0; r < Count; ++r) {
          const __m512 product = _mm512_mul_ps(scale, _mm512_set1_ps(x[r].template scale<Unit>()[column / Unit]));
          const __m512 with_bias = _mm512_fmadd_ps(bias, _mm512_set1_ps(x[r].template sum<Unit>()[column / Unit]), sum[r][v]);
          sum[r][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[r][v]), product, with_bias);
        }
      }
    }
    for (uint32_t r = 0; r < Count; ++r) {
      for (uint32_t v = 0; v < Vectors; ++v) _mm512_mask_storeu_ps(y + r * y_stride + 16 * v, mask[v], sum[r][v]);
    }
  }
};

}  // namespace
}  // namespace markbase::cpu
