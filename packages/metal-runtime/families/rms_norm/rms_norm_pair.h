#pragma once

/** Parameters of rms_norm_pair, whose second norm has the result of the first as its residual; the including file has rms_norm_params.h. */
struct RmsNormPairParams {
  RmsNormParams first;
  RmsNormParams second;
};
static_assert(sizeof(RmsNormPairParams) == 88, "host and kernel disagree on RmsNormPairParams");

/** Maximum number of elements of a vector per thread. */
#define MARKBASE_HELD_ELEMENTS 16
