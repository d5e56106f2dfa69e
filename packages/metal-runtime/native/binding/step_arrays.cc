#include "step_arrays.h"

#include <algorithm>
#include <utility>

#include "typed_array.h"

namespace markbase {

namespace {

std::vector<int32_t> copy_ints(const Napi::Object& object, const char* name) {
  const auto array = typed_array<int32_t>(object.Get(name), name);
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
  const auto array = typed_array<double>(object.Get("sampling"), "sampling");
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

StepArrays::StepArrays(Napi::Object step, const StepLimits& limits)
    : keep_alive_(Napi::Persistent(step)),
      table_(copy_ints(step, "tables")),
      token_(copy_ints(step, "tokens")),
      layer_token_(copy_ints(step, "layerTokens")),
      soft_index_(copy_ints(step, "softIndex")),
      output_row_(copy_ints(step, "outputRows")),
      history_token_(copy_ints(step, "historyTokens")),
      history_count_(copy_ints(step, "historyCounts")),
      bias_token_(copy_ints(step, "biasTokens")),
      allowed_word_(copy_ints(step, "allowedWords")),
      sample_(copy_sampling(step)) {
  const auto bias = typed_array<float>(step.Get("biasValues"), "biasValues");
  bias_value_.assign(bias.Data(), bias.Data() + bias.ElementLength());
  position_[kAllRows] = copy_ints(step, "positions");
  slot_[kAllRows] = copy_ints(step, "slots");
  visible_end_[kAllRows] = copy_ints(step, "visibleEnd");
  check_rows(step.Env(), limits);
  check_sampling(step.Env());
  gather_output_rows();

  StepView& view = call_.view;
  view.rows[kAllRows] = static_cast<uint32_t>(token_.size());
  view.rows[kOutputRows] = static_cast<uint32_t>(output_row_.size());
  for (const RowSet set : {kAllRows, kOutputRows}) {
    view.position[set] = position_[set].data();
    view.slot[set] = slot_[set].data();
    view.visible_end[set] = visible_end_[set].data();
  }
  view.table = table_.data();
  view.table_entries = static_cast<uint32_t>(table_.size());
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
  copy_inputs(step, limits);
  find_outputs(step, limits);
}

void StepArrays::check_rows(Napi::Env env, const StepLimits& limits) const {
  const size_t rows = token_.size();
  require(env, rows >= 1 && rows <= limits.max_rows, "tokens", "rows that the program was recorded for");
  require(env, output_row_.size() <= limits.max_outputs, "outputRows", "rows that the program was recorded for");
  const std::pair<const char*, const std::vector<int32_t>&> arrays[] = {{"layerTokens", layer_token_},
                                                                        {"softIndex", soft_index_},
                                                                        {"positions", position_[kAllRows]},
                                                                        {"slots", slot_[kAllRows]},
                                                                        {"visibleEnd", visible_end_[kAllRows]}};
  for (const auto& [name, array] : arrays) require(env, array.size() == rows, name, "a number for each row");
  const auto is_row = [rows](int32_t row) { return row >= 0 && static_cast<size_t>(row) < rows; };
  require(env, std::all_of(output_row_.begin(), output_row_.end(), is_row), "outputRows", "rows of the step");
}

void StepArrays::check_sampling(Napi::Env env) const {
  require(env, sample_.size() == output_row_.size(), "sampling", "parameters for each output row");
  require(env, history_count_.size() == history_token_.size(), "historyCounts", "a number for each of historyTokens");
  require(env, bias_value_.size() == bias_token_.size(), "biasValues", "a number for each of biasTokens");
  for (const SampleParams& params : sample_) {
    const bool is_within = params.history_begin <= params.history_end && params.history_end <= history_token_.size() &&
                           params.bias_begin <= params.bias_end && params.bias_end <= bias_token_.size() &&
                           (params.allowed_begin == kNoMask || params.allowed_begin < allowed_word_.size());
    require(env, is_within && params.top_logprobs <= kMaxTopLogprobs, "sampling", "ranges within the arrays of the step");
  }
}

void StepArrays::gather_output_rows() {
  for (const int32_t row : output_row_) {
    position_[kOutputRows].push_back(position_[kAllRows][row]);
    slot_[kOutputRows].push_back(slot_[kAllRows][row]);
    visible_end_[kOutputRows].push_back(visible_end_[kAllRows][row]);
  }
}

void StepArrays::copy_inputs(Napi::Object step, const StepLimits& limits) {
  const auto inputs = step.Get("inputs").As<Napi::Array>();
  for (uint32_t i = 0; i < inputs.Length(); ++i) {
    const auto entry = inputs.Get(i).As<Napi::Object>();
    const size_t port = entry.Get("port").As<Napi::Number>().Uint32Value();
    require(step.Env(), port < limits.inputs.size(), "inputs", "ports of the program");
    const Port& target = limits.inputs[port];
    const std::string argument = "inputs." + target.name;
    const auto check_count = [&](size_t count) {
      const bool has_own_rows = target.row_set > kOutputRows;
      const size_t most = size_t{has_own_rows ? target.max_rows : call_.view.rows[target.row_set]} * target.width;
      require(step.Env(), has_own_rows ? count <= most : count == most, argument, "numbers for the rows of the step");
    };
    const Napi::Value data = entry.Get("data");
    if (!entry.Has("values")) {
      const auto numbers = typed_array<float>(data, argument);
      check_count(numbers.ElementLength());
      call_.inputs.push_back({port, copy(numbers, &numbers_), numbers.ElementLength()});
      continue;
    }
    const auto bytes = typed_array<uint8_t>(data, argument);
    check_count(bytes.ElementLength());
    const auto values = typed_array<float>(entry.Get("values"), argument);
    require(step.Env(), values.ElementLength() == kByteValues, argument, "256 values");
    call_.inputs.push_back({port, nullptr, bytes.ElementLength(), copy(bytes, &bytes_), copy(values, &numbers_)});
  }
}

void StepArrays::find_outputs(Napi::Object step, const StepLimits& limits) {
  const auto outputs = step.Get("outputs").As<Napi::Array>();
  for (uint32_t i = 0; i < outputs.Length(); ++i) {
    const auto entry = outputs.Get(i).As<Napi::Object>();
    const size_t port = entry.Get("port").As<Napi::Number>().Uint32Value();
    require(step.Env(), port < limits.outputs.size(), "outputs", "ports of the program");
    const Port& source = limits.outputs[port];
    const size_t rows = call_.view.rows[source.row_set == kAllRows ? kAllRows : kOutputRows];
    auto data = typed_array<float>(entry.Get("data"), "outputs." + source.name);
    require(step.Env(), data.ElementLength() == rows * source.width, "outputs." + source.name, "room for the rows of the step");
    call_.outputs.push_back({port, data.Data(), data.ElementLength()});
  }
  const size_t sampled = limits.has_sampler ? output_row_.size() : 0;
  const auto result = [&]<typename Number>(const char* name, size_t count, Number** out) {
    auto array = typed_array<Number>(step.Get(name), name);
    require(step.Env(), array.ElementLength() == count, name, "room for each output row");
    *out = array.Data();
  };
  result("sampled", sampled, &call_.sampled);
  result("logprobs", sampled, &call_.logprobs);
  result("topTokens", sampled * kMaxTopLogprobs, &call_.top_tokens);
  result("topLogprobs", sampled * kMaxTopLogprobs, &call_.top_logprobs);
  auto cancel_flag = typed_array<int32_t>(step.Get("cancelFlag"), "cancelFlag");
  require(step.Env(), cancel_flag.ElementLength() == 1, "cancelFlag", "one number");
  call_.cancel_flag = cancel_flag.Data();
}

}  // namespace markbase
