/**
 * sample: chooses one token per output row from its logits [N, V], and reports log-probabilities.
 *
 * Order: suppressed and masked ids become -infinity; logit bias; penalties (repetition, presence, frequency); temperature;
 * top-k; top-p; min-p; draw. NaN counts as -infinity; a row without any finite logit gives token -1 and log-probability NaN.
 * Log-probabilities are those of the penalised logits at temperature 1.
 *
 * Phase 0, one item per chunk of a row: penalised copy in scratch, with maximum and sum of exponentials. Phase 1, one item per row: the
 * choice. Rows are independent of each other; all sums run in an order that depends on V alone.
 */
#include "sample_params.h"

#include <math.h>

#include "call.h"
#include "kernel_list.h"
#include "rows.h"
#include "cpu_select.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

/** Logits per item of phase 0: a large vocabulary has 32 items. */
constexpr uint32_t kChunk = 8192;

/** Summary of the penalised logits of one chunk. */
struct ChunkSummary {
  float maximum;
  int32_t best;  ///< lowest id with the maximum
  float sum;     ///< of e^(logit - maximum)
  uint32_t unused;
};

struct Layout {
  uint32_t chunks;
  size_t logits;     ///< offset of the penalised logits [rows][padded V]; the summaries [rows][chunks] are at 0
  size_t row_bytes;  ///< of penalised logits
  size_t thread_begin;
  size_t thread_bytes;  ///< weights [padded V], then the scratch of best_candidates
};

Layout layout_of(uint32_t vocabulary, uint32_t rows) {
  Layout layout = {};
  layout.chunks = divide_up(vocabulary, kChunk);
  layout.row_bytes = align_up(size_t{vocabulary} * sizeof(float));
  layout.logits = align_up(size_t{rows} * layout.chunks * sizeof(ChunkSummary));
  layout.thread_begin = layout.logits + rows * layout.row_bytes;
  layout.thread_bytes = layout.row_bytes + align_up(candidate_scratch_bytes(vocabulary));
  return layout;
}

size_t scratch_bytes(const void* params, uint32_t max_rows, uint32_t threads) {
  const auto& p = *static_cast<const SampleKernelParams*>(params);
  const Layout layout = layout_of(p.vocabulary, max_rows);
  return layout.thread_begin + threads * layout.thread_bytes;
}

uint32_t items(const CpuCall& call, uint32_t phase) {
  const uint32_t rows = call.step->rows[kOutputRows];
  return phase == 0 ? rows * divide_up(params_of<SampleKernelParams>(call).vocabulary, kChunk) : rows;
}

/** Suppression, mask, bias and penalties on logits [first, first + width) of a row. */
void penalise(const CpuCall& call, const SampleParams& sampling, uint32_t first, uint32_t width, float* logits) {
  const auto& p = params_of<SampleKernelParams>(call);
  const int32_t* suppressed = buffer<const int32_t>(call, 1);
  for (uint32_t i = 0; i < p.suppressed; ++i) {
    const uint32_t at = static_cast<uint32_t>(suppressed[i]) - first;
    if (at < width) logits[at] = -__builtin_inff();
  }
  if (sampling.allowed_begin != kNoMask) {
    const uint32_t* words = call.step->allowed_word + sampling.allowed_begin;
    for (uint32_t i = 0; i < width; ++i) {
      if ((words[(first + i) / 32] >> ((first + i) % 32) & 1u) == 0) logits[i] = -__builtin_inff();
    }
  }
  for (uint32_t i = sampling.bias_begin; i < sampling.bias_end; ++i) {
    const uint32_t at = static_cast<uint32_t>(call.step->bias_token[i]) - first;
    if (at < width) logits[at] += call.step->bias_value[i];
  }
  for (uint32_t i = sampling.history_begin; i < sampling.history_end; ++i) {
    const uint32_t at = static_cast<uint32_t>(call.step->history_token[i]) - first;
    if (at >= width) continue;
    float& logit = logits[at];
    logit = logit > 0 ? logit / sampling.repetition_penalty : logit * sampling.repetition_penalty;
    const int32_t count = call.step->history_count[i];
    if (count > 0) {
      logit -= sampling.presence_penalty;
      logit -= sampling.frequency_penalty * static_cast<float>(count);
    }
  }
}

/** e^((logit - maximum) / temperature), 1 at the maximum itself, even where that is infinite. */
F32 weight_of(F32 logits, float maximum, float temperature) {
  return select(logits == maximum, splat(1.0f), exp((logits - maximum) / temperature));
}

void summarise(const CpuCall& call, uint32_t row, uint32_t chunk) {
  const auto& p = params_of<SampleKernelParams>(call);
  const Layout layout = layout_of(p.vocabulary, call.step->rows[kOutputRows]);
  const uint32_t first = chunk * kChunk;
  const uint32_t width = smaller(kChunk, p.vocabulary - first);
  const float* from = buffer<const float>(call, 0) + size_t{row} * p.logits_stride + first;
  float* logits = reinterpret_cast<float*>(call.scratch + layout.logits + row * layout.row_bytes) + first;
  const F32 lowest = splat(-__builtin_inff());
  for_each_vector(width, [&](uint32_t i, uint32_t n) {
    const F32 v = load(from + i, n);
    store(logits + i, select(v == v, v, lowest), n);
  });
  penalise(call, call.step->sample[row], first, width, logits);

  F32 most = lowest;
  for_each_vector(width, [&](uint32_t i, uint32_t n) {
    // The zeros after a short tail are not logits.
    if (n == kLanes) {
      most = larger(load(logits + i), most);
    } else {
      for (uint32_t j = 0; j < n; ++j) most[0] = logits[i + j] > most[0] ? logits[i + j] : most[0];
    }
  });
  ChunkSummary& summary = reinterpret_cast<ChunkSummary*>(call.scratch)[size_t{row} * layout.chunks + chunk];
  summary = {largest(most), -1, 0, 0};
  if (summary.maximum == -__builtin_inff()) return;
  F32 total = {};
  for_each_vector(width, [&](uint32_t i, uint32_t n) {
    const F32 v = load(logits + i, n);
    if (summary.best < 0 && any(v == summary.maximum)) {
      for (uint32_t j = 0; j < n && summary.best < 0; ++j) {
        if (v[j] == summary.maximum) summary.best = static_cast<int32_t>(first + i + j);
      }
    }
    const F32 weights = weight_of(v, summary.maximum, 1.0f);
    if (n == kLanes) {
      total += weights;
    } else {
      for (uint32_t j = 0; j < n; ++j) total[j] += weights[j];
    }
  });
  summary.sum = sum(total);
}

void choose(const CpuCall& call, uint32_t row, uint32_t thread) {
  const auto& p = params_of<SampleKernelParams>(call);
  const SampleParams& sampling = call.step->sample[row];
  const Layout layout = layout_of(p.vocabulary, call.step->rows[kOutputRows]);
  const ChunkSummary* summaries = reinterpret_cast<const ChunkSummary*>(call.scratch) + size_t{row} * layout.chunks;
  const float* logits = reinterpret_cast<const float*>(call.scratch + layout.logits + row * layout.row_bytes);
  float* weights = reinterpret_cast<float*>(call.scratch + layout.thread_begin + thread * layout.thread_bytes);
  std::byte* scratch = reinterpret_cast<std::byte*>(weights) + layout.row_bytes;
  int32_t* token = buffer<int32_t>(call, 2) + row;
  float* logprob = buffer<float>(call, 3) + row;

  ChunkSummary best = {-__builtin_inff(), -1, 0, 0};
  for (uint32_t i = 0; i < layout.chunks; ++i) {
    if (summaries[i].maximum > best.maximum) best = summaries[i];
  }
  double total = 0;
  for (uint32_t i = 0; i < layout.chunks; ++i) {
    const float below = summaries[i].maximum == best.maximum ? 0.0f : summaries[i].maximum - best.maximum;
    if (summaries[i].best >= 0) total += double{summaries[i].sum} * ::exp(double{below});
  }
  const double log_total = ::log(total);
  const auto logprob_of = [&](float logit) {
    return static_cast<float>((logit == best.maximum ? 0.0 : double{logit} - double{best.maximum}) - log_total);
  };

  const uint32_t wanted = smaller(sampling.top_logprobs, kMaxTopLogprobs);
  if (wanted > 0) {
    uint32_t found = 0;
    const Candidate* candidates = best_candidates(logits, p.vocabulary, wanted, scratch, &found);
    for (uint32_t i = 0; i < wanted; ++i) {
      const size_t at = size_t{row} * kMaxTopLogprobs + i;
      buffer<int32_t>(call, 4)[at] = i < found ? candidates[i].id : -1;
      buffer<float>(call, 5)[at] = i < found ? logprob_of(candidates[i].logit) : -__builtin_inff();
    }
  }

  *token = best.best;
  if (best.best >= 0 && sampling.temperature > 0) {
    for_each_vector(p.vocabulary, [&](uint32_t i, uint32_t n) {
      store(weights + i, weight_of(load(logits + i, n), best.maximum, sampling.temperature), n);
    });
    *token = draw_token(logits, weights, p.vocabulary, {sampling.top_k, sampling.top_p, sampling.min_p},
                        uniform_number(sampling.seed_low, sampling.seed_high, sampling.draw), scratch);
  }
  *logprob = *token >= 0 ? logprob_of(logits[*token]) : __builtin_nanf("");
}

void run(const CpuCall& call, uint32_t phase, uint32_t begin, uint32_t end, uint32_t thread) {
  const uint32_t chunks = divide_up(params_of<SampleKernelParams>(call).vocabulary, kChunk);
  for (uint32_t item = begin; item < end; ++item) {
    if (phase == 0) {
      summarise(call, item / chunks, item % chunks);
    } else {
      choose(call, item, thread);
    }
  }
}

}  // namespace

const CpuKernel kSample = {"sample", 2, items, run, scratch_bytes};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
