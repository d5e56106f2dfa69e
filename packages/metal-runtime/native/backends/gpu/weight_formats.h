#pragma once

#include <algorithm>
#include <string>

#include "dispatch_builder.h"
#include "scalar_type.h"

namespace markbase::gpu {

/** Bytes of one row of a stored weight. */
inline size_t weight_row_bytes(uint32_t format, uint32_t bits, uint32_t in) {
  switch (format) {
    case kWeightF32: return size_t{in} * 4;
    case kWeightBf16:
    case kWeightF16: return size_t{in} * 2;
    default: return size_t{in} * bits / 8;
  }
}

/** The format as spelled in kernel names; group and scale type are read from the parameters. */
inline std::string kernel_format(uint32_t format, uint32_t bits) {
  switch (format) {
    case kWeightAffine: return std::string("q").append(std::to_string(bits));
    case kWeightMxfp4: return "mxfp4";
    case kWeightMxfp8: return "mxfp8";
    case kWeightNvfp4: return "nvfp4";
    case kWeightBf16: return "bf16";
    case kWeightF16: return "f16";
    default: return "f32";
  }
}

/** Columns of a chunk; chunk_columns of metal_matrix.h. */
inline uint32_t chunk_columns(uint32_t format) { return is_quantized(format) ? 32 : 8; }

/** Alignment in bytes of every row of the weight at `operand`. */
inline uint32_t row_alignment(const Command& command, uint32_t operand, size_t row_bytes) {
  return std::min(alignment_of(operand_offset(command, operand)), alignment_of(row_bytes));
}

/**
 * True when the scales of the weight whose operands begin at `operand`, `scalars` of them, and its biases can be read as the words that
 * contain them.
 */
inline bool has_scalar_words(const Command& command, uint32_t operand, uint64_t scalars) {
  return scalars % 2 == 0 && operand_offset(command, operand + 1) % 4 == 0 && operand_offset(command, operand + 2) % 4 == 0;
}

/** Alignment in bytes of every row of activations at an offset. */
inline uint32_t activation_alignment(size_t offset, uint32_t stride) {
  return std::min(alignment_of(offset), alignment_of(size_t{stride} * sizeof(float)));
}

/** True when one kernel can read two weights (LinearWeightParams or MoeLinearWeightParams) as its two streams. */
template <typename Weight>
bool is_stored_alike(const Weight& a, const Weight& b) {
  return a.format == b.format && (a.format != kWeightAffine || (a.bits == b.bits && a.group == b.group && a.scale_type == b.scale_type));
}

}  // namespace markbase::gpu
