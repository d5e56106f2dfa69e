#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "command.h"
#include "status.h"

namespace markbase {

/** An operation as the recorder hands it over: a family, numbers by name, operands in binding order. */
struct OpCall {
  std::string family;
  std::string label;
  std::unordered_map<std::string, double> attributes;
  std::vector<Binding> operands;
};

/** Reads the attributes of an OpCall into a parameter struct and remembers the first that is missing or out of range. */
class Attributes {
 public:
  explicit Attributes(const OpCall& call) : call_(call) {}

  uint32_t u32(const std::string& name);
  float f32(const std::string& name);
  /** Expects `count` operands. */
  void operands(size_t count);
  Status status() const { return status_; }

 private:
  const OpCall& call_;
  Status status_;
};

/** Limits of the program that a command is lowered for. */
struct LoweringContext {
  uint32_t max_rows;
  uint32_t max_outputs;
  uint32_t rows_of(uint32_t row_set) const { return row_set == kOutputRows ? max_outputs : max_rows; }
};

/** Host half of every family: fills the parameter struct, names the variant, sizes the grid. */
Status lower(const OpCall& call, const LoweringContext& context, Command* out);

/** Puts a parameter struct into a command. */
template <typename Params>
void set_params(Command* command, const Params& params) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&params);
  command->params.assign(bytes, bytes + sizeof(Params));
}

/** Storage format of a matrix as kernel names spell it: "q4g64", "bf16", "f16", "f32". */
std::string format_name(uint32_t format, uint32_t bits, uint32_t group);

#define MARKBASE_LOWERING(family) Status lower_##family(const OpCall&, const LoweringContext&, Command*)
MARKBASE_LOWERING(embed);
MARKBASE_LOWERING(rms_norm);
MARKBASE_LOWERING(linear);
MARKBASE_LOWERING(elementwise);
MARKBASE_LOWERING(rope_table);
MARKBASE_LOWERING(rope);
MARKBASE_LOWERING(kv_append);
MARKBASE_LOWERING(kv_copy);
MARKBASE_LOWERING(attention);
MARKBASE_LOWERING(gather_rows);
MARKBASE_LOWERING(moe_route);
MARKBASE_LOWERING(moe_linear);
MARKBASE_LOWERING(moe_combine);
MARKBASE_LOWERING(conv2d);
MARKBASE_LOWERING(causal_conv);
MARKBASE_LOWERING(local_attention);
MARKBASE_LOWERING(sample);
MARKBASE_LOWERING(layer_norm);
MARKBASE_LOWERING(column_affine);
MARKBASE_LOWERING(pool_rows);
MARKBASE_LOWERING(segment_attention);
#undef MARKBASE_LOWERING

}  // namespace markbase
