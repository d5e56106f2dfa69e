#include "sample_params.h"

#include "step_planner.h"

namespace markbase::gpu {

namespace {

/** Logits per penalising threadgroup, and floats in their summary; kChunk of sample.metal and kSummary of metal_sample.h. */
constexpr uint32_t kChunk = 4096;
constexpr uint32_t kSummary = 3;

/** Threads of the choosing threadgroup; kChooseThreads of metal_sample.h. */
constexpr uint32_t kChooseThreads = 512;

/** Largest vocabulary whose weights can be summed in fixed point. */
constexpr uint32_t kMaxVocabulary = 1u << 18;

}  // namespace

Status plan_sample(CommandContext& context) {
  const auto& p = context.params<SampleKernelParams>();
  if (p.vocabulary > kMaxVocabulary) return unsupported(context.command, "at most 262144 ids");
  const uint32_t rows = context.rows(), chunks = divide_up(p.vocabulary, kChunk);
  const size_t summary_bytes = size_t{rows} * chunks * kSummary * sizeof(float);
  const size_t logit_bytes = size_t{rows} * p.vocabulary * sizeof(float);
  const size_t summaries = context.scratch.take(summary_bytes), logits = context.scratch.take(logit_bytes);
  DispatchBuilder(context, "sample", "sample_penalise")
      .operands(0, 2)
      .scratch(kScratchArgument, summaries, summary_bytes, true)
      .scratch(kScratchArgument + 1, logits, logit_bytes, true)
      .step(kStepArgument, StepArray::kSample)
      .step(kStepArgument + 1, StepArray::kHistoryToken)
      .step(kStepArgument + 2, StepArray::kHistoryCount)
      .step(kStepArgument + 3, StepArray::kBiasToken)
      .step(kStepArgument + 4, StepArray::kBiasValue)
      .step(kStepArgument + 5, StepArray::kAllowedWord)
      .grid(chunks, rows, 1, kRowThreads);
  DispatchBuilder(context, "sample", "sample_choose")
      .operands(2, 6)
      .scratch(kScratchArgument, summaries, summary_bytes, false)
      .scratch(kScratchArgument + 1, logits, logit_bytes, false)
      .step(kStepArgument, StepArray::kSample)
      .grid(rows, 1, 1, kChooseThreads);
  return Status::good();
}

}  // namespace markbase::gpu
