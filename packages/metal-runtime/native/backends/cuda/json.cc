#include "json.h"

#include <cctype>
#include <cstdlib>

namespace markbase::cuda {

namespace {

/** Maximum nesting depth; the table of kernels has five levels. */
constexpr int kMostLevels = 32;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  bool parse_all(Json* out) { return value(out, 0) && peek() == 0; }

 private:
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char expected) {
    if (peek() != expected) return false;
    ++at_;
    return true;
  }

  bool word(const char* expected, Json* out, double number) {
    const std::string text = expected;
    if (text_.compare(at_, text.size(), text) != 0) return false;
    at_ += text.size();
    out->number = number;
    return true;
  }

  bool value(Json* out, int level) {
    if (level > kMostLevels) return false;
    switch (peek()) {
      case '{': return object(out, level);
      case '[': return array(out, level);
      case '"': return string(&out->text);
      case 't': return word("true", out, 1);
      case 'f': return word("false", out, 0);
      default: return number(out);
    }
  }

  bool object(Json* out, int level) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string name;
      if (peek() != '"' || !string(&name) || !take(':') || !value(&out->members[name], level + 1)) return false;
    } while (take(','));
    return take('}');
  }

  bool array(Json* out, int level) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!value(&out->items.emplace_back(), level + 1)) return false;
    } while (take(','));
    return take(']');
  }

  bool string(std::string* out) {
    ++at_;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && ++at_ == text_.size()) return false;
      *out += text_[at_];
    }
    return at_ < text_.size() && text_[at_++] == '"';
  }

  bool number(Json* out) {
    const char* begin = text_.c_str() + at_;
    char* end = nullptr;
    out->number = std::strtod(begin, &end);
    at_ += static_cast<size_t>(end - begin);
    return end != begin;
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

const Json& Json::operator[](const std::string& name) const {
  static const Json nothing;
  const auto found = members.find(name);
  return found == members.end() ? nothing : found->second;
}

std::optional<Json> Json::parse(const std::string& text) {
  Json parsed;
  if (!Parser(text).parse_all(&parsed)) return std::nullopt;
  return parsed;
}

}  // namespace markbase::cuda
