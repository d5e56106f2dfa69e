/**
 * moe_cores: products of a few rows with the experts that they chose, on the tensor cores, in `fast`, for 4-bit codes in groups of 64. Each
 * choice of a row is multiplied separately, so that the bits of a row do not depend on the other rows. Rows that chose the same expert
 * follow each other for a block of outputs, so that all but the first find the weights in the second-level cache.
 *
 * A lane takes 32 adjacent columns of every 128, codes of one group. The four lanes of a weight row put their parts of the row of x into
 * separate columns of the product, which is 8 wide, so that groups stay separate: scales and biases are applied afterwards.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "moe_linear_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_experts.h"

/** Weight rows of a product. */
constant constexpr uint kTile = 16;
/** Units of 128 columns whose loads a simdgroup has in flight together: for a row that all simdgroups share, and for a slice. */
constant constexpr uint kSharedUnits = 3;
constant constexpr uint kSliceUnits = 4;
/** Words per lane of the columns of a slice that are multiplied together. */
constant constexpr uint kSliceWords = kSliceUnits * kUnitWords / kLanes;

/** A weight row of an expert. */
struct ExpertRow {
  device const uchar* codes;
  device const ushort* numbers;  ///< scales in the first two of four lanes, biases in the others

  ExpertRow(device const uchar* weight, device const uchar* scales, device const uchar* biases, uint in, ulong row, uint lane) {
    codes = weight + row * (in / 2);
    numbers = (device const ushort*)(lane % 4 < 2 ? scales : biases) + row * (in / kGroupColumns);
  }
};

/** A lane's loads of `units` units of its two weight rows. */
template <uint units>
struct StoredUnits {
  uint4 codes[units][2];
  uint numbers[units][2];

  /** Beyond the end of a row, its last codes are repeated. */
  void load(ExpertRow low, ExpertRow high, uint in, uint first, uint lane) {
#pragma unroll
    for (uint u = 0; u < units; ++u) {
      const uint at = min((first + u) * (kUnitColumns / 2) + lane % 4 * 16, in / 2 - 16);
      codes[u][0] = *(device const uint4*)(low.codes + at);
      codes[u][1] = *(device const uint4*)(high.codes + at);
    }
#pragma unroll
    for (uint u = 0; u < units; ++u) {
      const uint group = min((first + u) * 2 + lane % 2, in / kGroupColumns - 1);
      numbers[u][0] = low.numbers[group];
      numbers[u][1] = high.numbers[group];
    }
  }

  /**
   * sums[i] += the product of weight row i with the columns of the units; the first two of four lanes have one group each. `row`, `totals`:
   * of the first unit; `count`: number of existing units.
   */
  void multiply(threadgroup const uint4* row, threadgroup const float* totals, uint count, uint lane, thread float (&sums)[2]) const {
    const uint part = lane % 4;
    const uint4 own = mask_if(lane / 4 == part);
#pragma unroll
    for (uint u = 0; u < units; ++u) {
      // One unit at a time: the registers are needed for the codes.
      simdgroup_barrier(mem_flags::mem_threadgroup);
      const uint from = min(u, count - 1);
      float products[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (uint w = 0; w < 4; ++w) {
        const uint4 pairs = row[from * kUnitWords + part * 4 + w] & own;
#pragma unroll
        for (uint m = 0; m < 2; ++m) {
          const uint low = codes[u][0][w] >> (8 * m), high = codes[u][1][w] >> (8 * m);
          const uint rows[4] = {nvidia::masked_or(low, 0x000f000fu, 0x43004300u), nvidia::masked_or(high, 0x000f000fu, 0x43004300u),
                                nvidia::masked_or(low >> 4, 0x000f000fu, 0x43004300u),
                                nvidia::masked_or(high >> 4, 0x000f000fu, 0x43004300u)};
          const uint outputs[2] = {pairs[2 * m], pairs[2 * m + 1]};
          nvidia::multiply_accumulate(products, rows, outputs);
        }
      }
      const float total = totals[from * 2 + part % 2];
#pragma unroll
      for (uint i = 0; i < 2; ++i) {
        const float number = from_bf16(ushort(numbers[u][i]));
        const float other = simd_shuffle_xor(number, 2);
        const float scale = part < 2 ? number : other, bias = part < 2 ? other : number;
        const float sum = fma(scale, products[2 * i] + products[2 * i + 1], fma(fma(scale, -128.0f, bias), total, sums[i]));
        sums[i] = u < count ? sum : sums[i];
      }
    }
  }
};

/** Sums of the two groups of a lane's weight rows, valid in lanes that are a multiple of four. */
inline void place_sums(thread const float (&sums)[2], threadgroup float* to, uint lane) {
#pragma unroll
  for (uint i = 0; i < 2; ++i) {
    const float both = sums[i] + simd_shuffle_xor(sums[i], 1);
    if (lane % 4 == 0) to[lane / 4 + 8 * i] = both;
  }
}

#define MARKBASE_EXPERT_ARGUMENTS                                                                                               \
  constant MoeLinearParams &p [[buffer(0)]], constant Launch &launch [[buffer(1)]], device const float *x [[buffer(2)]],        \
      device const uchar *norm_gain [[buffer(3)]], device const float *logits [[buffer(4)]],                                    \
      device const uchar *expert_scales [[buffer(5)]], device float *experts [[buffer(6)]], device float *shares [[buffer(7)]], \
      device const uchar *w0 [[buffer(8)]], device const uchar *s0 [[buffer(9)]], device const uchar *b0 [[buffer(10)]],        \
      device const uchar *w1 [[buffer(11)]], device const uchar *s1 [[buffer(12)]], device const uchar *b1 [[buffer(13)]],      \
      device float *y [[buffer(14)]], device uint4 *prepared [[buffer(22)]], uint2 at [[threadgroup_position_in_grid]],         \
      uint2 groups [[threadgroups_per_grid]], uint thread_index [[thread_index_in_threadgroup]]

/** The row of an expert's matrix for output `output` of weight `index`; beyond the end, the last one is repeated. */
inline ulong stored_row(constant MoeLinearParams& p, uint index, uint expert, uint output) {
  return ulong(expert) * p.weight[index].rows_per_expert + p.weight[index].first_row + min(output, p.out - 1);
}

/** The bound weights of a moe_linear. */
struct BoundExperts {
  device const uchar *w0, *s0, *b0, *w1, *s1, *b1;

  /** A lane's loads of its two weight rows of a block: 16 outputs, or 8 of gate and up. */
  void load(constant MoeLinearParams& p,
            constant Launch& launch,
            uint expert,
            uint block,
            uint unit,
            uint lane,
            thread StoredUnits<kSharedUnits>& stored) const {
    const bool is_pair = p.weights == 2;
    const uint output = block * (is_pair ? kTile / 2 : kTile) + lane / 4;
    const ExpertRow low(w0, s0 + launch.shift[7], b0 + launch.shift[8], p.in, stored_row(p, 0, expert, output), lane);
    const ExpertRow high(is_pair ? w1 : w0, is_pair ? s1 + launch.shift[10] : s0 + launch.shift[7],
                         is_pair ? b1 + launch.shift[11] : b0 + launch.shift[8], p.in,
                         stored_row(p, is_pair ? 1 : 0, expert, output + (is_pair ? 0 : 8)), lane);
    stored.load(low, high, p.in, unit, lane);
  }
};

#define MARKBASE_BOUND_EXPERTS {w0, s0, b0, w1, s1, b1}

/**
 * Every block_step-th block of outputs of one choice. Simdgroups divide the columns, and their sums are added in order; the loads of the
 * next block are in flight while one is multiplied. Those of the first block are issued before the row is ready: `bring_row` copies it to
 * threadgroup memory, with a barrier at the end. `products`: [2, 8, 16].
 */
template <typename BringRow>
inline void multiply_choice(constant MoeLinearParams& p,
                            constant Launch& launch,
                            BoundExperts bound,
                            uint expert,
                            uint first_block,
                            uint block_step,
                            device float* y,
                            threadgroup const uint4* words,
                            threadgroup const float* totals,
                            threadgroup float* products,
                            uint thread_index,
                            BringRow bring_row) {
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const bool is_pair = p.weights == 2;
  const uint outputs = is_pair ? kTile / 2 : kTile, blocks = (p.out + outputs - 1) / outputs;
  const uint units = units_of(p.in), own = (units + kRowSimdgroups - 1) / kRowSimdgroups;
  const uint begin = min(simdgroup * own, units), count = min(own, units - begin);
  StoredUnits<kSharedUnits> next;
  bound.load(p, launch, expert, first_block, begin, lane, next);
  bring_row();
  uint turn = 0;
  for (uint block = first_block; block < blocks; block += block_step) {
    const StoredUnits<kSharedUnits> stored = next;
    if (block + block_step < blocks) bound.load(p, launch, expert, block + block_step, begin, lane, next);
    float sums[2] = {0.0f, 0.0f};
    if (count > 0) stored.multiply(words + begin * kUnitWords, totals + begin * 2, count, lane, sums);
    threadgroup float* own_products = products + turn * kRowSimdgroups * kTile;
    place_sums(sums, own_products + simdgroup * kTile, lane);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint output = block * outputs + thread_index;
    if (thread_index < outputs && output < p.out) {
      float product = 0.0f, up = 0.0f;
      for (uint s = 0; s < kRowSimdgroups; ++s) {
        product += own_products[s * kTile + thread_index];
        up += own_products[s * kTile + thread_index % 8 + 8];
      }
      y[output] = is_pair ? gelu_tanh(product) * up : product;
    }
    turn ^= 1;
  }
}

/** One row, which every threadgroup prepares and routes for itself. Grid: choices × blocks of outputs. */
kernel void moe_cores_row(MARKBASE_EXPERT_ARGUMENTS, threadgroup float* memory [[threadgroup(0)]]) {
  threadgroup float partial[kRowSimdgroups], products[2 * kRowSimdgroups * kTile];
  threadgroup uint4 keys[kRankedExperts / 4];
  threadgroup uint chosen[kRankedChosen];
  threadgroup float chosen_logits[kRankedChosen];
  threadgroup uint4* words = (threadgroup uint4*)memory;
  threadgroup float* totals = (threadgroup float*)(words + units_of(p.in) * kUnitWords);
  const RankedChoice choice = {keys, chosen, chosen_logits};
  const BoundExperts bound = MARKBASE_BOUND_EXPERTS;
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  OwnWords own;
  own.load(x, p.in, norm_gain, p.has_norm != 0, thread_index);
  float logit = 0.0f;
  if (p.has_routing != 0) {
    logit = logits[min(thread_index, p.experts - 1)];
    choice.place(logit, p.experts, thread_index);
  } else if (thread_index < p.top_k) {
    chosen[thread_index] = uint(experts[thread_index]);
  }
  const float squares = p.has_norm != 0 ? simd_sum(own_squares(x, p.in, thread_index)) : 0.0f;
  if (lane == 0) partial[simdgroup] = squares;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (p.has_routing != 0) choice.choose(logit, p.experts, p.top_k, thread_index);
  if (p.has_norm != 0) own.normalise(factor_of_row(squares, partial, p.in, p.eps));
  own.store(words, totals, p.in, thread_index);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  multiply_choice(p, launch, bound, chosen[at.x], at.y, groups.y, y + at.x * p.out, words, totals, products, thread_index, [] {});
  // The first threadgroup stores the choice for the commands that follow.
  if (p.has_routing == 0 || at.x != 0 || at.y != 0 || simdgroup != kRowSimdgroups - 1) return;
  choice.store(p.top_k, expert_scales + launch.shift[3], p.scale_type, p.logit_scale, experts, shares, lane);
}

/** Prepares rows, or slices of rows, and chooses their experts. Grid: slices × rows. */
kernel void moe_cores_prepare(MARKBASE_EXPERT_ARGUMENTS) {
  threadgroup float partial[kRowSimdgroups];
  threadgroup uint4 keys[kRankedExperts / 4];
  threadgroup uint chosen[kRankedChosen];
  threadgroup float chosen_logits[kRankedChosen];
  const RankedChoice choice = {keys, chosen, chosen_logits};
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint slices = p.has_slices != 0 ? p.top_k : 1;
  const ulong row = at.y, item = row * slices + at.x;
  OwnWords own;
  own.load(x + row * p.x_stride + at.x * p.in, p.in, norm_gain, p.has_norm != 0, thread_index);
  float logit = 0.0f;
  if (p.has_routing != 0) {
    logit = logits[row * p.logits_stride + min(thread_index, p.experts - 1)];
    choice.place(logit, p.experts, thread_index);
  }
  const float squares = p.has_norm != 0 ? simd_sum(own_squares(x + row * p.x_stride, p.in, thread_index)) : 0.0f;
  if (lane == 0) partial[simdgroup] = squares;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (p.has_norm != 0) own.normalise(factor_of_row(squares, partial, p.in, p.eps));
  const PreparedRows rows = prepared_rows(prepared, launch.rows * slices, p.in);
  own.store(rows.words + item * units_of(p.in) * kUnitWords, rows.totals + item * units_of(p.in) * 2, p.in, thread_index);
  // The first slice of a row stores its choice.
  if (p.has_routing == 0 || at.x != 0) return;
  choice.choose(logit, p.experts, p.top_k, thread_index);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup != 0) return;
  choice.store(p.top_k, expert_scales + launch.shift[3], p.scale_type, p.logit_scale, experts + row * p.experts_stride,
               shares + row * p.shares_stride, lane);
}

/** Prepared rows. Grid: choices of all rows × blocks of outputs. */
kernel void moe_cores_rows(MARKBASE_EXPERT_ARGUMENTS, threadgroup float* memory [[threadgroup(0)]]) {
  threadgroup float products[2 * kRowSimdgroups * kTile];
  const BoundExperts bound = MARKBASE_BOUND_EXPERTS;
  const uint units = units_of(p.in), word_count = units * kUnitWords;
  threadgroup uint4* words = (threadgroup uint4*)memory;
  threadgroup float* totals = (threadgroup float*)(words + word_count);
  const ulong row = at.x / p.top_k;
  const uint choice = at.x % p.top_k;
  const PreparedRows rows = prepared_rows(prepared, launch.rows, p.in);
  uint4 own[kOwnWords];
#pragma unroll
  for (uint k = 0; k < kOwnWords; ++k) own[k] = rows.words[row * word_count + min(thread_index + k * kRowThreads, word_count - 1)];
  const float own_total = rows.totals[row * units * 2 + min(thread_index, units * 2 - 1)];
  const uint expert = uint(experts[row * p.experts_stride + choice]);
  multiply_choice(p, launch, bound, expert, at.y, groups.y, y + row * p.y_stride + choice * p.out, words, totals, products, thread_index,
                  [&] {
#pragma unroll
                    for (uint k = 0; k < kOwnWords; ++k) {
                      if (thread_index + k * kRowThreads < word_count) words[thread_index + k * kRowThreads] = own[k];
                    }
                    if (thread_index < units * 2) totals[thread_index] = own_total;
                    threadgroup_barrier(mem_flags::mem_threadgroup);
                  });
}

/**
 * Unprepared rows with a slice per choice. Grid: rows × blocks of 16 outputs. A simdgroup has every eighth choice. The products of a row's
 * choices are stored, or combined: y = sum of share_x * (x_x W_e^T).
 */
template <bool combines>
kernel void moe_cores_slices(MARKBASE_EXPERT_ARGUMENTS) {
  threadgroup uint4 words[kRowSimdgroups][kSliceUnits * kUnitWords];
  threadgroup float totals[kRowSimdgroups][kSliceUnits * 2];
  threadgroup float products[kRankedChosen * kTile], share[kRankedChosen];
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const ulong row = at.x;
  const uint first = at.y * kTile, units = units_of(p.in);
  device const uchar *scales = s0 + launch.shift[7], *biases = b0 + launch.shift[8];
  const float own_share = combines ? shares[row * p.shares_stride + min(thread_index, p.top_k - 1)] : 0.0f;
  for (uint choice = simdgroup; choice < p.top_k; choice += kRowSimdgroups) {
    device const float* own = x + row * p.x_stride + choice * p.in;
    const uint expert = uint(experts[row * p.experts_stride + choice]);
    const ExpertRow low(w0, scales, biases, p.in, stored_row(p, 0, expert, first + lane / 4), lane);
    const ExpertRow high(w0, scales, biases, p.in, stored_row(p, 0, expert, first + lane / 4 + 8), lane);
    float sums[2] = {0.0f, 0.0f};
    for (uint unit = 0; unit < units; unit += kSliceUnits) {
      float4 quads[kSliceWords][2];
#pragma unroll
      for (uint k = 0; k < kSliceWords; ++k) {
        const uint word = min(unit * kUnitWords + lane + k * kLanes, p.in / 8 - 1);
        for (uint i = 0; i < 2; ++i) quads[k][i] = ((device const float4*)own)[2 * word + i];
      }
      StoredUnits<kSliceUnits> stored;
      stored.load(low, high, p.in, unit, lane);
#pragma unroll
      for (uint k = 0; k < kSliceWords; ++k) {
        const uint word = lane + k * kLanes;
        const uint4 pairs = pair_columns(quads[k][0], quads[k][1]) & mask_if(unit * kUnitWords + word < p.in / 8);
        const float total = total_of_group(pairs);
        words[simdgroup][word] = pairs;
        if (lane % 8 == 0) totals[simdgroup][word / 8] = total;
      }
      stored.multiply(words[simdgroup], totals[simdgroup], min(units - unit, kSliceUnits), lane, sums);
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    place_sums(sums, products + choice * kTile, lane);
  }
  if (thread_index < p.top_k) share[thread_index] = own_share;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (!combines) {
    for (uint i = thread_index; i < p.top_k * kTile; i += kRowThreads) {
      const uint output = first + i % kTile;
      if (output < p.out) y[row * p.y_stride + i / kTile * p.out + output] = products[i];
    }
    return;
  }
  if (thread_index >= kTile || first + thread_index >= p.out) return;
  float total = share[0] * products[thread_index];
  for (uint i = 1; i < p.top_k; ++i) total = fma(share[i], products[i * kTile + thread_index], total);
  y[row * p.y_stride + first + thread_index] = total;
}

template [[host_name("moe_cores_slices")]] kernel decltype(moe_cores_slices<false>) moe_cores_slices<false>;
template [[host_name("moe_cores_combine")]] kernel decltype(moe_cores_slices<true>) moe_cores_slices<true>;
