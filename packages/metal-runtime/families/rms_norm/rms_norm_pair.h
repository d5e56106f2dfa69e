#pragma once

/** Parameters of rms_norm_pair, whose second norm takes what the first one makes as its residual; the including file has rms_norm_params.h. */
struct RmsNormPairParams {
  RmsNormParams first;
  RmsNormParams second;
};
static_assert(sizeof(RmsNormPairParams) == 88, "host and kernel disagree on RmsNormPairParams");

/** Elements of a vector, at most, for each of its threads. */
#define MARKBASE_HELD_ELEMENTS 16
