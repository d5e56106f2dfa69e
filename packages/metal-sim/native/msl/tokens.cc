#include "tokens.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace msl {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Cutter {
 public:
  explicit Cutter(const std::string& source) : source_(source) {}

  std::vector<Token> run() {
    while (true) {
      std::string space = take_space();
      if (at_ >= source_.size()) {
        add(Token::Kind::kEnd, std::move(space), 0);
        return std::move(tokens_);
      }
      const char c = source_[at_];
      if (c == '#' && is_line_start_) {
        take_directive(std::move(space));
      } else {
        is_line_start_ = false;
        if (std::isdigit(static_cast<unsigned char>(c)) || (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))))) {
          add(Token::Kind::kNumber, std::move(space), number_length());
        } else if (is_name_character(c)) {
          add(Token::Kind::kIdentifier, std::move(space), name_length());
        } else if (c == '"' || c == '\'') {
          add(Token::Kind::kText, std::move(space), text_length());
        } else {
          add(Token::Kind::kPunctuator, std::move(space), punctuator_length());
        }
      }
    }
  }

 private:
  char peek(size_t ahead) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  std::string take_space() {
    const size_t begin = at_;
    while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_]))) {
      if (source_[at_] == '\n') {
        ++line_;
        is_line_start_ = true;
      }
      ++at_;
    }
    return source_.substr(begin, at_ - begin);
  }

  void add(Token::Kind kind, std::string space, size_t length) {
    tokens_.push_back({kind, std::move(space), source_.substr(at_, length), file_, line_});
    at_ += length;
  }

  void take_directive(std::string space) {
    const size_t end = source_.find('\n', at_);
    add(Token::Kind::kDirective, std::move(space), (end == std::string::npos ? source_.size() : end) - at_);
    const std::string& text = tokens_.back().text;
    // A line marker refers to the line that follows it.
    if (text.size() > 2 && text[1] == ' ' && std::isdigit(static_cast<unsigned char>(text[2]))) {
      line_ = static_cast<unsigned>(std::atoi(text.c_str() + 2)) - 1;
      const size_t open = text.find('"'), close = text.find('"', open + 1);
      if (close != std::string::npos) file_ = text.substr(open + 1, close - open - 1);
    }
  }

  size_t name_length() const {
    size_t length = 0;
    while (is_name_character(peek(length))) ++length;
    return length;
  }

  /** A preprocessing number: letters, digits, points, and signs after an exponent. */
  size_t number_length() const {
    size_t length = 0;
    while (is_name_character(peek(length)) || peek(length) == '.' || peek(length) == '\'' ||
           ((peek(length) == '+' || peek(length) == '-') && length > 0 && is_exponent(length - 1))) {
      ++length;
    }
    return length;
  }

  bool is_exponent(size_t index) const {
    const bool is_hexadecimal = peek(0) == '0' && std::tolower(peek(1)) == 'x';
    return std::tolower(peek(index)) == (is_hexadecimal ? 'p' : 'e');
  }

  size_t text_length() const {
    const char quote = peek(0);
    size_t length = 1;
    while (peek(length) != quote && peek(length) != '\0') length += peek(length) == '\\' ? 2 : 1;
    return length + 1;
  }

  size_t punctuator_length() const {
    // Only operators of which a part would have a meaning for the rewriter. ">>" stays two tokens, for templates.
    for (const char* longer : {"::", "->", "<<=", ">=", "<=", "==", "&&", "<<"}) {
      if (source_.compare(at_, std::strlen(longer), longer) == 0) return std::strlen(longer);
    }
    return 1;
  }

  const std::string& source_;
  std::vector<Token> tokens_;
  std::string file_;
  size_t at_ = 0;
  unsigned line_ = 1;
  bool is_line_start_ = true;
};

}  // namespace

std::vector<Token> tokenize(const std::string& source) { return Cutter(source).run(); }

std::string join(const std::vector<Token>& tokens) {
  std::string source;
  for (const Token& token : tokens) source += token.space + token.text;
  return source;
}

size_t find_closing(const std::vector<Token>& tokens, size_t open) {
  const std::string& opening = tokens[open].text;
  const bool is_angle = opening == "<";
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (tokens[i].kind != Token::Kind::kPunctuator) continue;
    // Within angle brackets, parentheses nest as well, and a statement's end means that it was a comparison.
    if (text == "(" || text == "[" || text == "{" || (is_angle && text == "<")) ++depth;
    if (text == ")" || text == "]" || text == "}" || (is_angle && text == ">")) {
      if (--depth == 0) return i;
    }
    if (is_angle && text == ";") return tokens.size();
  }
  return tokens.size();
}

}  // namespace msl
