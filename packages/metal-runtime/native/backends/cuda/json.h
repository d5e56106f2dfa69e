#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace markbase::cuda {

/** A value of a JSON text; the only supported escapes are \" and \\. */
struct Json {
  std::map<std::string, Json> members;  ///< of an object
  std::vector<Json> items;              ///< of an array
  std::string text;                     ///< of a string
  double number = 0;                    ///< of a number, or 1 for true

  /** The member of an object, or an empty value. */
  const Json& operator[](const std::string& name) const;

  /** Empty if the text is not JSON. */
  static std::optional<Json> parse(const std::string& text);
};

}  // namespace markbase::cuda
