/**
 * linear_exact_rows: linear_exact for many rows, with the same bits.
 *
 * A threadgroup computes 64 outputs of eight rows, which it prepares for itself. Simdgroup w multiplies the columns of lanes w, w + 16, w +
 * 8 and w + 24 of linear_row, whose sums simd_sum adds first. A lane has four rows and four outputs: each value that it reads of a row
 * serves four products, and each code is converted once for four rows. Codes are copied three chunks ahead, the first ones before the
 * step's inputs are ready.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "linear_exact_tiles.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_clip.h"
#include "metal_linear_epilogue.h"
#include "linear_exact_nvidia.h"

#pragma METAL fp contract(off)

constant constexpr uint kRows = MARKBASE_EXACT_ROWS;
constant constexpr uint kOutputs = MARKBASE_EXACT_OUTPUTS;
constant constexpr uint kStages = MARKBASE_EXACT_STAGES;
constant constexpr uint kScalarBytes = kExactScalarBytes;
/** Per lane. */
constant constexpr uint kSide = 4;
/** Lanes of linear_row whose work a simdgroup does. */
constant constexpr uint kParts = kLanes / kRowSimdgroups;
/** Rows that are prepared together. */
constant constexpr uint kTogether = 4;

/** Code `index` of four as a float: the code in the low bits of 2^23, minus 2^23. */
inline float byte_number(uint word, uint index) {
  return as_type<float>(nvidia::select_bytes(word, 0x4b000000u, 0x7440u | index)) - 8388608.0f;
}

/** Chunk of columns of unit `unit` of a simdgroup: the chunks of one lane of linear_row, then those of the next. */
inline uint chunk_of(uint unit, uint simdgroup) {
  const uint part = unit / kLaneChunks;
  return simdgroup + part % 2 * 16 + part / 2 * 8 + unit % kLaneChunks * kLanes;
}

/** Copies codes into the stages of a simdgroup: the two 16-byte pieces of output 4 g + j are at 16 j + g, swapped if bit 2 of g is set. */
struct ExactCopier {
  device const uchar* codes;  ///< of the lane's piece of its first output
  ulong step;                 ///< bytes to its next output
  uint outputs;               ///< of the threadgroup, from the lane's first one to the end
  uint chunks, simdgroup, lane;

  ExactCopier(device const uchar* weight, uint in, uint first, uint out, uint thread_index)
      : step(ulong(16) * in), chunks(in / 32), simdgroup(thread_index / kLanes), lane(thread_index % kLanes) {
    const uint own = first + lane / 2;
    codes = weight + ulong(own) * in + lane % 2 * 16;
    outputs = out > own ? out - own : 0;
  }
  void copy(threadgroup uchar* stages, uint unit) const {
    const uint chunk = chunk_of(unit, simdgroup);
    if (unit < kParts * kLaneChunks && chunk < chunks) {
      threadgroup uchar* to = stages + unit % kStages * kExactStageBytes + (lane / 2 % 4 * 16 + lane / 8) * 32;
#pragma unroll
      for (uint m = 0; m < kOutputs / 16; ++m) {
        nvidia::copy_16_if(m * 16 < outputs, to + m * 128 + (lane + m) % 2 * 16, codes + m * step + chunk * 32);
      }
    }
    nvidia::end_copies();
  }
};

/** The products of a lane's rows and outputs. */
struct ExactSums {
  float at[kSide][kSide];  ///< by row

  void add(thread const ExactSums& other) {
#pragma unroll
    for (uint r = 0; r < kSide; ++r) {
#pragma unroll
      for (uint j = 0; j < kSide; ++j) at[r][j] = at[r][j] + other.at[r][j];
    }
  }

  /**
   * Adds the products of a chunk, in the order of multiply of metal_matrix.h. `x`: its columns in the lane's first row; `codes`: of the
   * lane's first output in the stage; `swap`: 1 if the pieces are swapped; `scalars`: scales of the lane's outputs, `biases` bytes before
   * their biases; `plain`: sums of the lane's rows.
   */
  void multiply(
      threadgroup const float* x, threadgroup const uchar* codes, uint swap, threadgroup const uchar* scalars, uint biases, float4 plain) {
    float4 parts[kSide][kSide];
#pragma unroll
    for (uint r = 0; r < kSide; ++r) {
#pragma unroll
      for (uint j = 0; j < kSide; ++j) parts[r][j] = float4(0.0f);
    }
#pragma unroll
    for (uint piece = 0; piece < 2; ++piece) {
      uint4 words[kSide];
#pragma unroll
      for (uint j = 0; j < kSide; ++j) words[j] = *(threadgroup const uint4*)(codes + j * 512 + (piece ^ swap) * 16);
#pragma unroll
      for (uint q = 0; q < 4; ++q) {
        float4 values[kSide];
#pragma unroll
        for (uint r = 0; r < kSide; ++r) values[r] = *(threadgroup const float4*)(x + r * kExactPitch + piece * 16 + q * 4);
#pragma unroll
        for (uint j = 0; j < kSide; ++j) {
          const uint word = words[j][q];
          const float4 numbers = float4(byte_number(word, 0), byte_number(word, 1), byte_number(word, 2), byte_number(word, 3));
#pragma unroll
          for (uint r = 0; r < kSide; ++r) parts[r][j] = fma(numbers, values[r], parts[r][j]);
        }
      }
    }
    const uint2 scale_words = *(threadgroup const uint2*)scalars, bias_words = *(threadgroup const uint2*)(scalars + biases);
#pragma unroll
    for (uint j = 0; j < kSide; ++j) {
      const float scale = from_bf16(ushort((j < 2 ? scale_words.x : scale_words.y) >> j % 2 * 16));
      const float bias = from_bf16(ushort((j < 2 ? bias_words.x : bias_words.y) >> j % 2 * 16));
#pragma unroll
      for (uint r = 0; r < kSide; ++r) {
        const float4 part = parts[r][j];
        at[r][j] = fma(scale, (part.x + part.y) + (part.z + part.w), fma(bias, plain[r], at[r][j]));
      }
    }
  }
};

/** Copies scales or biases of the threadgroup's outputs, repeating the last one beyond the end: [groups, outputs]. */
inline void load_scalars(device const uchar* from, uint groups, uint first, uint out, threadgroup uchar* to, uint thread_index) {
  for (uint group = thread_index % kLanes; group < groups; group += kLanes) {
    ushort bits[kOutputs / kRowSimdgroups];
#pragma unroll
    for (uint n = 0; n < kOutputs / kRowSimdgroups; ++n) {
      bits[n] = ((device const ushort*)from)[min(first + thread_index / kLanes + n * kRowSimdgroups, out - 1) * groups + group];
    }
#pragma unroll
    for (uint n = 0; n < kOutputs / kRowSimdgroups; ++n) {
      *(threadgroup ushort*)(to + group * kScalarBytes + (thread_index / kLanes + n * kRowSimdgroups) * 2) = bits[n];
    }
  }
}

/** Sums of the chunks of all rows: [chunks, rows]. */
inline void sum_chunks(threadgroup const float* rows, uint chunks, threadgroup float* plain, uint thread_index) {
  for (uint task = thread_index; task < chunks * kRows; task += kRowThreads) {
    threadgroup const float4* quads = (threadgroup const float4*)(rows + task % kRows * kExactPitch + task / kRows * 32);
    float4 total = float4(0.0f);
#pragma unroll
    for (uint q = 0; q < 8; ++q) total += quads[q];
    plain[task] = (total.x + total.y) + (total.z + total.w);
  }
}

/** Grid: blocks of outputs × blocks of rows. */
kernel void linear_exact_rows_q8(MARKBASE_EXACT_ARGUMENTS, threadgroup uchar* memory [[threadgroup(0)]]) {
  threadgroup float partial[kTogether * kRowSimdgroups];
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint first = at.x * kOutputs, first_row = at.y * kRows, out = p.weight[0].out, chunks = p.in / 32,
             groups = p.in / p.weight[0].group;
  threadgroup float* rows = (threadgroup float*)memory;
  threadgroup uchar* stages = memory + kRows * kExactPitch * 4 + simdgroup * (kStages * kExactStageBytes);
  threadgroup float* plain = (threadgroup float*)(memory + kRows * kExactPitch * 4 + kRowSimdgroups * kStages * kExactStageBytes);
  threadgroup uchar* scalars = (threadgroup uchar*)(plain + chunks * kRows);
  const ExactCopier copier(weight + launch.shift[6], p.in, first, out, thread_index);
  for (uint unit = 0; unit + 1 < kStages; ++unit) copier.copy(stages, unit);
  load_scalars(scales + launch.shift[7], groups, first, out, scalars, thread_index);
  load_scalars(biases + launch.shift[8], groups, first, out, scalars + groups * kScalarBytes, thread_index);
  OwnGains gains;
  gains.load(p, norm_gain + launch.shift[4], residual_gain + launch.shift[2], thread_index);

  nvidia::wait_for_inputs();
  const ExactSource source = {x, residual, h, output_row, at.x == 0};
  for (uint begin = 0; begin < kRows; begin += kTogether) {
    float values[kTogether][kOwn];
    prepare_own<kTogether>(p, source, gains, first_row + begin, launch.rows, partial, thread_index, values);
#pragma unroll
    for (uint r = 0; r < kTogether; ++r) {
#pragma unroll
      for (uint k = 0; k < kOwn; ++k) {
        const uint i = thread_index + k * kRowThreads;
        if (i < p.in) rows[(begin + r) * kExactPitch + i] = values[r][k];
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sum_chunks(rows, chunks, plain, thread_index);
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const uint own_rows = lane / 16 * kSide, own_outputs = lane % 16 * kSide;
  ExactSums earlier, total;
  for (uint part = 0; part < kParts; ++part) {
    ExactSums sums = {};
    for (uint k = 0; k < kLaneChunks; ++k) {
      const uint unit = part * kLaneChunks + k, chunk = chunk_of(unit, simdgroup);
      nvidia::wait_copies<int(kStages) - 2>();
      simdgroup_barrier(mem_flags::mem_threadgroup);
      copier.copy(stages, unit + kStages - 1);
      if (chunk >= chunks) continue;
      sums.multiply(rows + own_rows * kExactPitch + chunk * 32, stages + unit % kStages * kExactStageBytes + lane % 16 * 32, lane / 4 % 2,
                    scalars + chunk * 32 / p.weight[0].group * kScalarBytes + own_outputs * 2, groups * kScalarBytes,
                    *(threadgroup const float4*)(plain + chunk * kRows + own_rows));
    }
    // ((w) + (w + 16)) + ((w + 8) + (w + 24)).
    if (part == 1) {
      earlier.add(sums);
    } else if (part == 3) {
      total.add(sums);
      earlier.add(total);
    } else if (part == 0) {
      earlier = sums;
    } else {
      total = sums;
    }
  }
  // The stages are no longer needed; each simdgroup stores its sums in its own stage.
  simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (uint r = 0; r < kSide; ++r) {
    ((threadgroup float4*)stages)[((own_rows + r) * kOutputs + own_outputs) / 4] =
        float4(earlier.at[r][0], earlier.at[r][1], earlier.at[r][2], earlier.at[r][3]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup const float* left = (threadgroup const float*)(memory + kRows * kExactPitch * 4);
  constexpr uint kLeft = kStages * kExactStageBytes / 4;
  for (uint i = thread_index; i < kRows * kOutputs; i += kRowThreads) {
    float t[kRowSimdgroups];
#pragma unroll
    for (uint w = 0; w < kRowSimdgroups; ++w) t[w] = left[w * kLeft + i];
    const float product = ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
    const uint row = first_row + i / kOutputs, output = first + i % kOutputs;
    if (row < launch.rows && output < out) {
      y[ulong(row) * p.weight[0].y_stride + output] = finish_product(p, 0, product, 0.0f, operand, row, output);
    }
  }
}
