#pragma once

/**
 * How attention_few cuts the positions of a row, and how results of spans are folded. The including file has metal_stdlib,
 * attention_params.h, launch.h, metal_math.h and metal_attention.h.
 *
 * Positions are cut into chunks at absolute multiples of kChunk. The number of chunks in a span follows from the number that the row sees,
 * and spans are always folded in the same order: the bits of a row do not depend on its neighbours.
 */

#pragma METAL fp contract(off)

/** Positions that a threadgroup processes at a time; kFewChunk of plan_few.cc on the host. */
constant constexpr uint kChunk = 32;

/** Maximum number of spans that the last threadgroup to finish folds by itself; kDirectSpans on the host. */
constant constexpr uint kDirectSpans = 17;

/** Rows that see more than kDirectChunks * kDirectSpans chunks have more spans; kDirectChunks on the host. */
constant constexpr uint kDirectChunks = 4;

/** Maximum number of spans of a row; kMostFewSpans on the host. */
constant constexpr uint kMostFewSpans = 128;

/** Query heads of a threadgroup; kFewHeads on the host. */
constant constexpr uint kFewHeads = 8;

/** Number of parts in which spans are summed separately: span s belongs to part s % kFoldParts. */
constant constexpr uint kFoldParts = 4;

struct Chunks {
  uint first;
  uint count;
  uint span;  ///< chunks of a span

  uint spans() const { return (count + span - 1) / span; }
};

/** `most`: number of spans of a row with a long context. */
inline Chunks chunks_of(Visible seen, uint most) {
  const uint first = seen.low / kChunk;
  const uint count = (seen.high - 1) / kChunk - first + 1;
  const uint spans = count <= kDirectSpans * kDirectChunks ? min(kDirectSpans, most) : most;
  return {first, count, (count + spans - 1) / spans};
}

/** Results of spans in scratch memory: values [row, head, span, width], followed by (maximum, sum) of each. */
struct SpanPlaces {
  device float* values;
  device float2* totals;
  uint width;

  device float* value(ulong place, uint column) const { return values + place * width + column; }
};

inline SpanPlaces span_places(device float* spans, uint width, ulong places) {
  return {spans, (device float2*)(spans + places * width), width};
}

/** Weights of spans [0, count) of a row and head in the result; computed by one simdgroup. */
inline void find_factors(device const float2* totals, uint count, threadgroup float* factors, uint lane) {
  constexpr uint kTurns = kMostFewSpans / kLanes;
  float2 total[kTurns];
#pragma unroll
  for (uint i = 0; i < kTurns; ++i) {
    const uint span = lane + i * kLanes;
    total[i] = span < count ? totals[span] : float2(kLowest, 0.0f);
  }
  float maximum = total[0].x;
#pragma unroll
  for (uint i = 1; i < kTurns; ++i) maximum = max(maximum, total[i].x);
  maximum = simd_max(maximum);
  float sum = 0.0f;
#pragma unroll
  for (uint i = 0; i < kTurns; ++i) {
    total[i].x = exponential(total[i].x - maximum);
    sum = fma(total[i].x, total[i].y, sum);
  }
  const float factor = 1.0f / simd_sum(sum);
#pragma unroll
  for (uint i = 0; i < kTurns; ++i) {
    const uint span = lane + i * kLanes;
    if (span < count) factors[span] = total[i].x * factor;
  }
}

/** Four columns of span `span`; beyond the end, of the last span. */
inline float4 span_quad(device const float4* values, uint stride, uint count, uint span) {
  return values[ulong(min(span, count - 1)) * stride];
}

/** Weight of a span; 0 beyond the end. */
inline float4 span_factor(threadgroup const float* factors, uint count, uint span) {
  return float4(span < count ? factors[min(span, count - 1)] : 0.0f);
}

/** Sum of four columns of spans part, part + kFoldParts and so on; `values`: those of span 0; spans are `stride` quads apart. */
inline float4 fold_part(device const float4* values, uint stride, threadgroup const float* factors, uint count, uint part) {
  constexpr uint kAtOnce = 16;
  float4 sum = float4(0.0f);
  for (uint first = part; first < count; first += kAtOnce * kFoldParts) {
    float4 quad[kAtOnce];
#pragma unroll
    for (uint i = 0; i < kAtOnce; ++i) quad[i] = span_quad(values, stride, count, first + i * kFoldParts);
#pragma unroll
    for (uint i = 0; i < kAtOnce; ++i) sum = fma(span_factor(factors, count, first + i * kFoldParts), quad[i], sum);
  }
  return sum;
}

/** Heads of a row whose spans a threadgroup folds. */
struct FoldedHeads {
  device const float* values;  ///< of the first head
  threadgroup const float* factors;
  device float* out;
  uint heads;
  uint places;  ///< spans allocated per head
  uint count;   ///< of spans to fold
};

/** Folds up to `turns` * kFoldParts spans; a thread has loads for `items` quads of columns in flight together. */
template <uint width, uint threads, uint turns, uint items>
inline void fold_heads(FoldedHeads folded, uint thread_index) {
  constexpr uint quads = width / 4, slots = turns * kFoldParts;
  const uint end = folded.heads * quads;
  for (uint first = thread_index; first < end; first += items * threads) {
    float4 quad[items * slots];
#pragma unroll
    for (uint m = 0; m < items; ++m) {
      const uint i = min(first + m * threads, end - 1);
      device const float4* from = (device const float4*)folded.values + ulong(i / quads) * folded.places * quads + i % quads;
#pragma unroll
      for (uint s = 0; s < slots; ++s) quad[m * slots + s] = span_quad(from, quads, folded.count, s);
    }
#pragma unroll
    for (uint m = 0; m < items; ++m) {
      const uint i = first + m * threads;
      threadgroup const float* factors = folded.factors + min(i, end - 1) / quads * kDirectSpans;
      float4 part[kFoldParts];
#pragma unroll
      for (uint s = 0; s < slots; ++s) {
        const float4 before = s < kFoldParts ? float4(0.0f) : part[s % kFoldParts];
        part[s % kFoldParts] = fma(span_factor(factors, folded.count, s), quad[m * slots + s], before);
      }
      if (i < end) ((device float4*)folded.out)[i] = (part[0] + part[1]) + (part[2] + part[3]);
    }
  }
}
