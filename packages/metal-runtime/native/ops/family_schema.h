#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "command.h"
#include "status.h"

namespace markbase {

/** A field of a parameter struct, by the name of its attribute. All fields are 32-bit words. */
struct Field {
  enum class Kind : uint8_t { kWord, kFloat };
  const char* attribute;
  size_t offset;
  Kind kind;
};

/** How attributes map to the parameters of a family's commands. */
struct FamilySchema {
  static constexpr uint32_t kFromField = ~0u;
  static constexpr uint32_t kByCheck = ~0u;

  const char* family;
  std::span<const Field> fields;
  size_t params_bytes;
  /** Fields of each element of `weight`, attributes "weight0.<field>" and so on; the field "weights" counts them. */
  std::span<const Field> weight_fields{};
  size_t weights_offset = 0;
  size_t weight_bytes = 0;
  uint32_t most_weights = 0;
  uint32_t operands = kByCheck;
  uint32_t row_set = kFromField;  ///< a RowSet
  /** Rejects parameters that the kernels of the family do not support, after all of them have been read. */
  Status (*check)(const Command& command) = nullptr;
};

/** The error of a check that rejects a command. */
inline Status refuse(const Command& command, const char* attribute, std::string expected) {
  return Status::error(StatusCode::kInvalidArgument, command.label + ": " + attribute, std::move(expected));
}

/** The schemas of all families; scripts/list-families.mjs generates them from the parameter headers. */
std::span<const FamilySchema> family_schemas();

}  // namespace markbase
