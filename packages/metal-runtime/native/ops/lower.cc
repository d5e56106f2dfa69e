#include <algorithm>
#include <cmath>
#include <cstring>

#include "family_schema.h"
#include "op_call.h"
#include "scalar_type.h"

namespace markbase {

namespace {

/** Fields that kernels and plans divide by. */
constexpr std::string_view kDivisors[] = {"axes", "capacity", "experts", "groups", "heads", "kvHeads", "topK"};

/** Part of a kernel name that describes the storage of an operand. */
struct StorageFormat {
  uint32_t format = kWeightF32;
  uint32_t bits = 0;
  uint32_t group = 0;
};

/** Storage format as spelled in kernel names: "q4g64", "bf16", "f16", "f32". */
std::string format_name(const StorageFormat& storage) {
  switch (storage.format) {
    case kWeightAffine:
      // Appended one by one, because gcc 12 warns about operator+ here.
      return std::string("q").append(std::to_string(storage.bits)).append("g").append(std::to_string(storage.group));
    case kWeightMxfp4: return "mxfp4";
    case kWeightMxfp8: return "mxfp8";
    case kWeightNvfp4: return "nvfp4";
    case kWeightBf16: return "bf16";
    case kWeightF16: return "f16";
    default: return "f32";
  }
}

/** Converts attributes to a parameter struct; keeps the unread ones and the first error. */
class Lowering {
 public:
  Lowering(const OpCall& call, const FamilySchema& schema, Command* out)
      : label_(call.label), attributes_(call.attributes), schema_(schema), out_(out) {}

  Status run() {
    out_->params.resize(schema_.params_bytes);
    uint32_t weights = 0;
    StorageFormat storage;
    const bool has_format = read("", schema_.fields, 0, &storage, &weights);
    if (has_format) out_->kernel.variant = format_name(storage);
    if (schema_.most_weights > 0) read_weights(weights);
    if (schema_.row_set != FamilySchema::kFromField) out_->row_set = static_cast<RowSet>(schema_.row_set);
    if (!attributes_.empty()) fail(attributes_.begin()->first, "no such attribute");
    if (schema_.operands != FamilySchema::kByCheck && out_->bindings.size() != schema_.operands) {
      fail("operands", std::to_string(schema_.operands) + " operands");
    }
    return status_;
  }

 private:
  /** Reads fields into the struct that begins at an offset. True if one of them names a storage format. */
  bool read(const std::string& prefix, std::span<const Field> fields, size_t begin, StorageFormat* storage, uint32_t* weights) {
    bool has_format = false;
    for (const Field& field : fields) {
      const std::string name = prefix + field.attribute;
      std::byte* target = out_->params.data() + begin + field.offset;
      if (field.kind == Field::Kind::kFloat) {
        const float value = static_cast<float>(take(name, "a number"));
        std::memcpy(target, &value, sizeof(value));
        continue;
      }
      const uint32_t value = word(name);
      std::memcpy(target, &value, sizeof(value));
      const std::string_view attribute = field.attribute;
      if (value == 0 && std::ranges::find(kDivisors, attribute) != std::end(kDivisors)) fail(name, "a number above 0");
      if (attribute == "rowSet") read_row_set(name, value);
      if (attribute == "weights") *weights = value;
      if (attribute == "bits") storage->bits = value;
      if (attribute == "group") storage->group = value;
      if (attribute == "format" || attribute == "cacheType") {
        storage->format = value;
        has_format = true;
      }
    }
    if (storage->format == kWeightAffine && (storage->bits == 0 || storage->group == 0)) {
      fail(prefix + "format", "bits and a group of more than 0");
    }
    if (storage->format > kWeightAffine) check_small_floats(prefix, *storage);
    return has_format;
  }

  /** The bits and the group of these formats are fixed, and kernels rely on them. */
  void check_small_floats(const std::string& prefix, const StorageFormat& storage) {
    const bool is_known = storage.format <= kWeightNvfp4;
    const uint32_t bits = storage.format == kWeightMxfp8 ? 8 : 4, group = storage.format == kWeightNvfp4 ? 16 : 32;
    if (is_known && storage.bits == bits && storage.group == group) return;
    fail(prefix + "format", "0 to 6, with the bits and the group of its definition");
  }

  void read_weights(uint32_t count) {
    if (count < 1 || count > schema_.most_weights) {
      fail("weights", "1 to " + std::to_string(schema_.most_weights) + " weights");
      return;
    }
    for (uint32_t i = 0; i < count; ++i) {
      StorageFormat storage;
      uint32_t unused = 0;
      read("weight" + std::to_string(i) + ".", schema_.weight_fields, schema_.weights_offset + i * schema_.weight_bytes, &storage, &unused);
      const std::string name = format_name(storage);
      if (i == 0) out_->kernel.variant = name;
      else if (out_->kernel.variant != name) out_->kernel.variant = "mixed";
    }
  }

  void read_row_set(const std::string& name, uint32_t value) {
    if (value > kOutputRows) fail(name, "0 or 1");
    else out_->row_set = static_cast<RowSet>(value);
  }

  uint32_t word(const std::string& name) {
    constexpr const char* kExpected = "a whole number below 2^32";
    const double value = take(name, kExpected);
    if (value >= 0 && value <= 4294967295.0 && value == std::floor(value)) return static_cast<uint32_t>(value);
    fail(name, kExpected);
    return 0;
  }

  double take(const std::string& name, const char* expected) {
    const auto node = attributes_.extract(name);
    if (!node.empty()) return node.mapped();
    fail(name, expected);
    return 0;
  }

  void fail(const std::string& name, const std::string& expected) {
    if (status_.ok()) status_ = Status::error(StatusCode::kInvalidArgument, label_ + ": " + name, expected);
  }

  const std::string& label_;
  std::unordered_map<std::string, double> attributes_;
  const FamilySchema& schema_;
  Command* out_;
  Status status_;
};

}  // namespace

Status lower(const OpCall& call, Command* out) {
  const auto schemas = family_schemas();
  const auto schema = std::ranges::find(schemas, call.family, [](const FamilySchema& it) { return std::string_view(it.family); });
  if (schema == schemas.end()) {
    return Status::error(StatusCode::kInvalidArgument, call.label, "a known kernel family, not " + call.family);
  }
  out->kernel.family = call.family;
  out->label = call.label;
  out->bindings = call.operands;
  if (Status status = Lowering(call, *schema, out).run(); !status.ok()) return status;
  return schema->check == nullptr ? Status::good() : schema->check(*out);
}

}  // namespace markbase
