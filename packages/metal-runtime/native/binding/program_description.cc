#include "program_description.h"

#include "buffer_object.h"
#include "op_call.h"

namespace markbase {

namespace {

double number(const Napi::Object& object, const char* name) { return object.Get(name).As<Napi::Number>().DoubleValue(); }

size_t size(const Napi::Object& object, const char* name) { return static_cast<size_t>(number(object, name)); }

uint32_t u32(const Napi::Object& object, const char* name) { return static_cast<uint32_t>(number(object, name)); }

std::string text(const Napi::Object& object, const char* name) { return object.Get(name).As<Napi::String>().Utf8Value(); }

Status read_operand(const Napi::Value& value, const std::string& label, Binding* out) {
  if (value.IsNull()) return Status::good();
  const auto operand = value.As<Napi::Object>();
  out->is_output = operand.Get("isOutput").As<Napi::Boolean>().Value();
  if (operand.Has("buffer")) {
    out->kind = Binding::Kind::kBuffer;
    out->buffer = BufferObject::of(operand.Get("buffer"), label);
    out->size_bytes = out->buffer->size_bytes();
    return Status::good();
  }
  out->kind = Binding::Kind::kArena;
  out->arena_offset = size(operand, "arenaOffset");
  out->size_bytes = size(operand, "sizeBytes");
  return Status::good();
}

Status read_op_call(const Napi::Object& object, OpCall* out) {
  out->family = text(object, "family");
  out->label = text(object, "label");
  const auto attributes = object.Get("attributes").As<Napi::Object>();
  const Napi::Array names = attributes.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const std::string name = names.Get(i).As<Napi::String>().Utf8Value();
    out->attributes[name] = number(attributes, name.c_str());
  }
  const auto operands = object.Get("operands").As<Napi::Array>();
  out->operands.resize(operands.Length());
  for (uint32_t i = 0; i < operands.Length(); ++i) {
    if (Status status = read_operand(operands.Get(i), out->label, &out->operands[i]); !status.ok()) return status;
  }
  return Status::good();
}

/** Reads merges among `command_count` commands, in their order. */
Status read_merges(const Napi::Array& array, size_t command_count, std::vector<Merge>* out) {
  size_t next = 0;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const auto object = array.Get(i).As<Napi::Object>();
    const Merge merge = {text(object, "name"), size(object, "first"), size(object, "count")};
    if (merge.first < next || merge.first > command_count || merge.count < 1 || merge.count > command_count - merge.first) {
      return Status::error(StatusCode::kInvalidArgument, "merge " + merge.name, "commands of the program, each in one merge at most");
    }
    next = merge.first + merge.count;
    out->push_back(merge);
  }
  return Status::good();
}

std::vector<Port> read_ports(const Napi::Array& array) {
  std::vector<Port> ports;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const auto port = array.Get(i).As<Napi::Object>();
    ports.push_back({text(port, "name"), size(port, "arenaOffset"), u32(port, "rowSet"), u32(port, "maxRows"), u32(port, "width"),
                     u32(port, "stride")});
  }
  return ports;
}

}  // namespace

Status read_program_description(Napi::Object object, ProgramDescription* out) {
  out->label = text(object, "label");
  out->max_rows = u32(object, "maxRows");
  out->max_outputs = u32(object, "maxOutputs");
  out->arena_bytes = size(object, "arenaBytes");
  out->check_finite = object.Get("checkFinite").As<Napi::Boolean>().Value();
  out->measures_time = object.Get("measuresTime").As<Napi::Boolean>().Value();
  out->inputs = read_ports(object.Get("inputs").As<Napi::Array>());
  out->outputs = read_ports(object.Get("outputs").As<Napi::Array>());
  if (const Napi::Value value = object.Get("sampler"); !value.IsNull()) {
    const auto sampler = value.As<Napi::Object>();
    out->has_sampler = true;
    out->sampler = {size(sampler, "tokens"), size(sampler, "logprobs"), size(sampler, "topTokens"), size(sampler, "topLogprobs")};
  }
  const auto commands = object.Get("commands").As<Napi::Array>();
  const auto merges = object.Get("merges").As<Napi::Array>();
  if (Status status = read_merges(merges, commands.Length(), &out->merges); !status.ok()) return status;
  for (uint32_t i = 0; i < commands.Length(); ++i) {
    OpCall call;
    if (Status status = read_op_call(commands.Get(i).As<Napi::Object>(), &call); !status.ok()) return status;
    Command command;
    if (Status status = lower(call, &command); !status.ok()) return status;
    out->commands.push_back(std::move(command));
  }
  return Status::good();
}

}  // namespace markbase
