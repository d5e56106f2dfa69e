#pragma once

/**
 * Parts that the attention kernels share. Metal only; the including file has metal_stdlib, attention_params.h, metal_storage.h,
 * metal_math.h and metal_norm.h.
 *
 * Positions are cut into partitions at absolute multiples of kPartition. Within one, the maximum is exact, and weights are summed over the
 * same 32 positions by the same simdgroup. Partitions are folded in ascending order into the result of their span, and spans in ascending
 * order; the number of partitions in a span follows from the number that the row sees. So the bits of a row depend neither on its
 * neighbours, nor on where its positions are in the cache, nor on which threadgroups share its partitions.
 */

#pragma METAL fp contract(off)

/** Positions that are weighted with one maximum: one per thread. */
constant constexpr uint kPartition = 256;

/** Maximum number of spans of a row. It bounds the work of folding, however many positions the row sees. */
constant constexpr uint kMostSpans = 16;

/** Floats before the sums of values in the result of a span: maximum and sum of weights. */
constant constexpr uint kSpanHeader = 2;

/** The positions [low, high) that a row sees. */
struct Visible {
  uint low;
  uint high;
};

inline Visible visible_positions(uint window, int position, int visible_end) {
  if (window == 0) return {0, uint(position) + 1};
  return {uint(max(position - int(window) + 1, 0)), uint(visible_end) + 1};
}

/** The partitions of a row, and how they are cut into spans. */
struct Partitions {
  uint first;
  uint count;
  uint span;  ///< partitions of a span

  uint spans() const { return (count + span - 1) / span; }
};

inline Partitions partitions_of(Visible seen) {
  const uint first = seen.low / kPartition;
  const uint count = (seen.high - 1) / kPartition - first + 1;
  uint span = 1;
  while (span * kMostSpans < count) span *= 2;
  return {first, count, span};
}

/** Rotates one head in threadgroup memory in place; lanes take pairs. `angles`: cosines, then sines. */
inline void rotate_head(threadgroup float* head, device const float* angles, uint width, uint lane) {
  const uint pairs = width / 2;
  for (uint i = lane; i < pairs; i += kLanes) {
    const float first = head[i], second = head[pairs + i];
    const float cosine = angles[i], sine = angles[pairs + i];
    head[i] = first * cosine - second * sine;
    head[pairs + i] = second * cosine + first * sine;
  }
}

/**
 * Normalises one raw head in threadgroup memory and, with `angles`, rotates it; called by one simdgroup. `gain` may be absent.
 * Heads have at most kSimdgroupWidth elements, so that one simdgroup can compute the norm.
 */
inline void prepare_head(device const float* raw,
                         uint width,
                         float eps,
                         device const uchar* gain,
                         bool has_gain,
                         uint gain_type,
                         device const float* angles,
                         bool is_rotated,
                         threadgroup float* head,
                         uint lane) {
  float squares = 0.0f;
  for (uint i = lane; i < width; i += kLanes) {
    const float value = raw[i];
    squares = fma(value, value, squares);
  }
  const float factor = norm_factor(simd_sum(squares), width, eps);
  for (uint i = lane; i < width; i += kLanes) {
    const float value = raw[i] * factor;
    head[i] = has_gain ? value * load_scalar(gain, gain_type, i) : value;
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  if (is_rotated) rotate_head(head, angles, width, lane);
  simdgroup_barrier(mem_flags::mem_threadgroup);
}

/** Elements of the cache as they are stored. */
struct FloatCache {
  static float round(float value) { return value; }
  static void store(device uchar* cache, ulong index, float value) { ((device float*)cache)[index] = value; }
  static float load(device const uchar* cache, ulong index) { return ((device const float*)cache)[index]; }
  static float4 quad(device const uchar* cache, ulong index) { return *(device const float4*)((device const float*)cache + index); }
};

struct Bf16Cache {
  static float round(float value) { return from_bf16(to_bf16(value)); }
  static void store(device uchar* cache, ulong index, float value) { ((device ushort*)cache)[index] = to_bf16(value); }
  static float load(device const uchar* cache, ulong index) { return from_bf16(((device const ushort*)cache)[index]); }
  static float4 quad(device const uchar* cache, ulong index) {
    const ushort4 bits = *(device const ushort4*)((device const ushort*)cache + index);
    return as_type<float4>(uint4(bits) << 16);
  }
};

/** Elements column .. column + 4 of a cached head that begins at element `head`, zeros beyond its end. */
template <typename Cache>
inline float4 cached_quad(device const uchar* cache, ulong head, uint column, uint width) {
  if (width % 4 == 0) return column < width ? Cache::quad(cache, head + column) : float4(0.0f);
  float values[4];
  for (uint i = 0; i < 4; ++i) values[i] = column + i < width ? Cache::load(cache, head + column + i) : 0.0f;
  return float4(values[0], values[1], values[2], values[3]);
}

/** The same of a head in threadgroup memory. */
inline float4 shared_quad(threadgroup const float* head, uint column, uint width) {
  float values[4];
  for (uint i = 0; i < 4; ++i) values[i] = column + i < width ? head[column + i] : 0.0f;
  return float4(values[0], values[1], values[2], values[3]);
}

/** State of a query after some partitions: maximum and sum of weights; sum 0 = nothing seen yet. */
struct Softmax {
  float maximum;
  float sum;
};

/** Factors of an older and a newer result, and their combined state. */
struct Fold {
  Softmax total;
  float old_scale;
  float new_scale;
};

/** Folds the result of the next partition into that of the earlier ones. */
inline Fold fold_partition(Softmax total, Softmax part, bool is_first) {
  if (is_first) return {part, 0.0f, 1.0f};
  const float maximum = max(total.maximum, part.maximum);
  const float old_scale = exponential(total.maximum - maximum), new_scale = exponential(part.maximum - maximum);
  return {{maximum, total.sum * old_scale + part.sum * new_scale}, old_scale, new_scale};
}

/** A sum of values after a fold. */
inline float folded(float total, float part, Fold fold, bool is_first) {
  return is_first ? part : fma(part, fold.new_scale, total * fold.old_scale);
}

/**
 * For the spans of one row and head in device memory, `stride` floats apart: computes the factor of each span and of the result before it.
 * Called by one thread; returns the sum of all weights.
 */
inline float find_span_factors(device const float* spans, uint count, ulong stride, threadgroup float2* factors) {
  Softmax total = {kLowest, 0.0f};
  for (uint i = 0; i < count; ++i) {
    const Fold fold = fold_partition(total, Softmax{spans[i * stride], spans[i * stride + 1]}, i == 0);
    total = fold.total;
    factors[i] = float2(fold.old_scale, fold.new_scale);
  }
  return total.sum;
}

/** Folds one column of the head; `values`: of the first span. */
inline float fold_spans(device const float* values, uint count, ulong stride, threadgroup const float2* factors, float sum) {
  float value = values[0];
  for (uint i = 1; i < count; ++i) value = fma(values[i * stride], factors[i].y, value * factors[i].x);
  return value * (1.0f / sum);
}
