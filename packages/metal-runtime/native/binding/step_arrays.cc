#include "step_arrays.h"

#include <algorithm>

namespace markbase {

namespace {

std::vector<int32_t> copy_ints(const Napi::Object& object, const char* name) {
  const auto array = object.Get(name).As<Napi::Int32Array>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

/** Keeps a copy of an array; returns its first element. */
template <typename Number>
Number* copy(const Napi::TypedArrayOf<Number>& array, std::vector<std::unique_ptr<Number[]>>* copies) {
  copies->push_back(std::make_unique_for_overwrite<Number[]>(array.ElementLength()));
  std::copy_n(array.Data(), array.ElementLength(), copies->back().get());
  return copies->back().get();
}

/** Numbers of one output row's parameters, in the order of the fields of SampleParams. */
constexpr size_t kSampleFields = 16;

std::vector<SampleParams> copy_sampling(const Napi::Object& object) {
  const auto array = object.Get("sampling").As<Napi::Float64Array>();
  std::vector<SampleParams> params;
  for (size_t row = 0; row < array.ElementLength() / kSampleFields; ++row) {
    const double* field = array.Data() + row * kSampleFields;
    const auto number = [&](size_t index) { return static_cast<uint32_t>(field[index]); };
    const auto real = [&](size_t index) { return static_cast<float>(field[index]); };
    params.push_back({real(0), real(1), real(2), real(3), real(4), real(5), number(6), number(7), number(8), number(9), number(10),
                      number(11), number(12), number(13), number(14), number(15)});
  }
  return params;
}

}  // namespace

StepArrays::StepArrays(Napi::Object step)
    : keep_alive_(Napi::Persistent(step)),
      token_(copy_ints(step, "tokens")),
      layer_token_(copy_ints(step, "layerTokens")),
      soft_index_(copy_ints(step, "softIndex")),
      output_row_(copy_ints(step, "outputRows")),
      history_token_(copy_ints(step, "historyTokens")),
      history_count_(copy_ints(step, "historyCounts")),
      bias_token_(copy_ints(step, "biasTokens")),
      allowed_word_(copy_ints(step, "allowedWords")),
      sample_(copy_sampling(step)) {
  const auto bias = step.Get("biasValues").As<Napi::Float32Array>();
  bias_value_.assign(bias.Data(), bias.Data() + bias.ElementLength());
  position_[kAllRows] = copy_ints(step, "positions");
  slot_[kAllRows] = copy_ints(step, "slots");
  visible_end_[kAllRows] = copy_ints(step, "visibleEnd");
  gather_output_rows();

  StepView& view = call_.view;
  view.rows[kAllRows] = static_cast<uint32_t>(token_.size());
  view.rows[kOutputRows] = static_cast<uint32_t>(output_row_.size());
  for (const RowSet set : {kAllRows, kOutputRows}) {
    view.position[set] = position_[set].data();
    view.slot[set] = slot_[set].data();
    view.visible_end[set] = visible_end_[set].data();
  }
  view.token = token_.data();
  view.layer_token = layer_token_.data();
  view.soft_index = soft_index_.data();
  view.output_row = output_row_.data();
  view.sample = sample_.data();
  view.history_token = history_token_.data();
  view.history_count = history_count_.data();
  view.bias_token = bias_token_.data();
  view.bias_value = bias_value_.data();
  view.allowed_word = reinterpret_cast<const uint32_t*>(allowed_word_.data());

  const auto inputs = step.Get("inputs").As<Napi::Array>();
  for (uint32_t i = 0; i < inputs.Length(); ++i) {
    const auto entry = inputs.Get(i).As<Napi::Object>();
    const size_t port = entry.Get("port").As<Napi::Number>().Uint32Value();
    if (!entry.Has("values")) {
      const auto data = entry.Get("data").As<Napi::Float32Array>();
      call_.inputs.push_back({port, copy(data, &numbers_), data.ElementLength()});
      continue;
    }
    const auto data = entry.Get("data").As<Napi::Uint8Array>();
    const float* values = copy(entry.Get("values").As<Napi::Float32Array>(), &numbers_);
    call_.inputs.push_back({port, nullptr, data.ElementLength(), copy(data, &bytes_), values});
  }
  const auto outputs = step.Get("outputs").As<Napi::Array>();
  for (uint32_t i = 0; i < outputs.Length(); ++i) {
    const auto entry = outputs.Get(i).As<Napi::Object>();
    auto data = entry.Get("data").As<Napi::Float32Array>();
    const size_t port = entry.Get("port").As<Napi::Number>().Uint32Value();
    call_.outputs.push_back({port, data.Data(), data.ElementLength()});
  }
  call_.sampled = step.Get("sampled").As<Napi::Int32Array>().Data();
  call_.logprobs = step.Get("logprobs").As<Napi::Float32Array>().Data();
  call_.top_tokens = step.Get("topTokens").As<Napi::Int32Array>().Data();
  call_.top_logprobs = step.Get("topLogprobs").As<Napi::Float32Array>().Data();
  call_.cancel_flag = step.Get("cancelFlag").As<Napi::Int32Array>().Data();
}

void StepArrays::gather_output_rows() {
  for (const int32_t row : output_row_) {
    position_[kOutputRows].push_back(position_[kAllRows][row]);
    slot_[kOutputRows].push_back(slot_[kAllRows][row]);
    visible_end_[kOutputRows].push_back(visible_end_[kAllRows][row]);
  }
}

}  // namespace markbase
