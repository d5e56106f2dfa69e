#pragma once
#include <stdint.h>

/** How the next token of one output row is chosen, as kernels read it: SampleParams of native/device/step.h, field by field. */
struct SampleRow {
  float temperature;
  float top_p;
  float min_p;
  float repetition_penalty;
  float presence_penalty;
  float frequency_penalty;
  uint32_t top_k;
  uint32_t seed_low;
  uint32_t seed_high;
  uint32_t draw;
  uint32_t top_logprobs;
  uint32_t history_begin;
  uint32_t history_end;
  uint32_t bias_begin;
  uint32_t bias_end;
  uint32_t allowed_begin;
};
static_assert(sizeof(SampleRow) == 64, "host and kernel disagree on SampleRow");
