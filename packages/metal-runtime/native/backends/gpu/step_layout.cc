#include "step_layout.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sample/sample_params.h"
#include "step_samples.h"

namespace markbase::gpu {

namespace {

static_assert(sizeof(SampleParams) == sizeof(SampleRow), "step.h and step_samples.h disagree");

/** Alignment of every part, valid for constant and device memory. */
constexpr size_t kAlignment = 256;

/** Assigns consecutive offsets. */
struct Places {
  size_t next = 0;
  size_t take(size_t bytes) {
    const size_t offset = next;
    // Never empty, so that a binding is never at the end of the memory.
    next += (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
};

/** An array of the step and its length. */
struct Source {
  StepArray array;
  const void* data;
  size_t bytes;
  bool is_list = false;  ///< grows from step to step
};

/** Lengths of the lists that the sampling parameters of rows refer to. */
struct ListSizes {
  size_t history = 0;
  size_t bias = 0;
  size_t allowed = 0;
};

ListSizes list_sizes(const ProgramDescription& program, const StepView& view) {
  ListSizes sizes;
  if (!program.has_sampler) return sizes;
  size_t mask_words = 0;
  for (const Command& command : program.commands) {
    if (command.kernel.family != "sample") continue;
    mask_words = (command.params_as<SampleKernelParams>().vocabulary + 31) / 32;
  }
  for (uint32_t row = 0; row < view.rows[kOutputRows]; ++row) {
    const SampleParams& sample = view.sample[row];
    sizes.history = std::max<size_t>(sizes.history, sample.history_end);
    sizes.bias = std::max<size_t>(sizes.bias, sample.bias_end);
    if (sample.allowed_begin != kNoMask) sizes.allowed = std::max(sizes.allowed, sample.allowed_begin + mask_words);
  }
  return sizes;
}

std::vector<Source> sources_of(const ProgramDescription& program, const StepView& view) {
  const size_t all = view.rows[kAllRows] * sizeof(int32_t), some = view.rows[kOutputRows] * sizeof(int32_t);
  const ListSizes lists = list_sizes(program, view);
  const size_t samples = program.has_sampler ? view.rows[kOutputRows] * sizeof(SampleRow) : 0;
  return {{StepArray::kPosition, view.position[kAllRows], all},
          {StepArray::kOutputPosition, view.position[kOutputRows], some},
          {StepArray::kSlot, view.slot[kAllRows], all},
          {StepArray::kOutputSlot, view.slot[kOutputRows], some},
          {StepArray::kVisibleEnd, view.visible_end[kAllRows], all},
          {StepArray::kOutputVisibleEnd, view.visible_end[kOutputRows], some},
          {StepArray::kTable, view.table, view.table_entries * sizeof(int32_t), true},
          {StepArray::kToken, view.token, all},
          {StepArray::kLayerToken, view.layer_token, all},
          {StepArray::kSoftIndex, view.soft_index, all},
          {StepArray::kOutputRow, view.output_row, some},
          {StepArray::kSample, view.sample, samples},
          {StepArray::kHistoryToken, view.history_token, lists.history * sizeof(int32_t), true},
          {StepArray::kHistoryCount, view.history_count, lists.history * sizeof(int32_t), true},
          {StepArray::kBiasToken, view.bias_token, lists.bias * sizeof(int32_t), true},
          {StepArray::kBiasValue, view.bias_value, lists.bias * sizeof(float), true},
          {StepArray::kAllowedWord, view.allowed_word, lists.allowed * sizeof(uint32_t), true}};
}

}  // namespace

StepLayout::StepLayout(const ProgramDescription& program, const StepCall& step) {
  Places places;
  for (const Source& source : sources_of(program, step.view)) {
    arrays_[static_cast<size_t>(source.array)] = places.take(source.is_list ? std::bit_ceil(source.bytes) : source.bytes);
  }
  for (const PortData& input : step.inputs) {
    const size_t bytes = input.bytes ? kByteValues * sizeof(float) + input.count : input.count * sizeof(float);
    inputs_.push_back(places.take(bytes));
  }
  first_bad_ = places.take(sizeof(uint32_t));
  results_ = places.take(ResultLayout(program.max_outputs).size_bytes);
  for (const PortData& output : step.outputs) outputs_.push_back(places.take(output.count * sizeof(float)));
  size_bytes_ = places.next;
}

void StepLayout::fill(const ProgramDescription& program, const StepCall& step, std::byte* memory) const {
  for (const Source& source : sources_of(program, step.view)) {
    if (source.bytes > 0) std::memcpy(memory + offset_of(source.array), source.data, source.bytes);
  }
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const PortData& input = step.inputs[i];
    std::byte* to = memory + inputs_[i];
    if (input.bytes) {
      std::memcpy(to, input.values, kByteValues * sizeof(float));
      std::memcpy(to + kByteValues * sizeof(float), input.bytes, input.count);
    } else {
      std::memcpy(to, input.data, input.count * sizeof(float));
    }
  }
  const uint32_t none = UINT32_MAX;
  std::memcpy(memory + first_bad_, &none, sizeof none);
}

void StepLayout::deliver(const ProgramDescription& program, const StepCall& step, const std::byte* memory) const {
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    // Arrays of the caller that hold no numbers may have no memory.
    if (step.outputs[i].count > 0) std::memcpy(step.outputs[i].data, memory + outputs_[i], step.outputs[i].count * sizeof(float));
  }
  if (!program.has_sampler) return;
  const ResultLayout layout(program.max_outputs);
  const size_t rows = step.view.rows[kOutputRows];
  if (rows == 0) return;
  const std::byte* results = memory + results_;
  std::memcpy(step.sampled, results + layout.tokens, rows * sizeof(int32_t));
  std::memcpy(step.logprobs, results + layout.logprobs, rows * sizeof(float));
  std::memcpy(step.top_tokens, results + layout.top_tokens, rows * kMaxTopLogprobs * sizeof(int32_t));
  std::memcpy(step.top_logprobs, results + layout.top_logprobs, rows * kMaxTopLogprobs * sizeof(float));
}

uint32_t StepLayout::first_bad_command(const std::byte* memory) const {
  uint32_t command = 0;
  std::memcpy(&command, memory + first_bad_, sizeof command);
  return command;
}

}  // namespace markbase::gpu
