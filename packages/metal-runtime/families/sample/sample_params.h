#pragma once
#include <stdint.h>

/**
 * Parameters of the sample kernel: picks one token per output row from its logits [N, V] by the row's SampleParams.
 * Order: suppressed ids and ids that the row's mask excludes become -inf; logit bias; repetition, presence and frequency penalties;
 * temperature; top-k; top-p; min-p; draw. Greedy (temperature 0) takes the lowest id among equal maxima. Log-probabilities are those of the
 * penalised logits at temperature 1 (0 is treated as 1). Bindings: logits, suppressed ids [suppressed] int32 (absent when 0), tokens [N]
 * int32, log-probabilities [N], alternatives' ids [N, 20] int32, alternatives' log-probabilities [N, 20].
 */
struct SampleKernelParams {
  uint32_t vocabulary;
  uint32_t logits_stride;
  uint32_t suppressed;  ///< ids that are never chosen
};
static_assert(sizeof(SampleKernelParams) == 12, "host and kernel disagree on SampleKernelParams");

#define MARKBASE_SAMPLE_OPERANDS 6
#define MARKBASE_SAMPLE_ROW_SET 1  // kOutputRows
