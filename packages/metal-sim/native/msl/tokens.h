#pragma once

#include <string>
#include <vector>

namespace msl {

/** A token of preprocessed source. Joining `space` and `text` of all tokens restores the source. */
struct Token {
  enum class Kind { kIdentifier, kNumber, kText, kPunctuator, kDirective, kEnd };
  Kind kind = Kind::kEnd;
  std::string space;  ///< whitespace before it
  std::string text;
  std::string file;
  unsigned line = 0;

  bool is(const char* expected) const { return text == expected; }
  bool is_identifier() const { return kind == Kind::kIdentifier; }
};

/** Tokenises preprocessed source; line markers (`# 3 "file"`) determine the file and line of a token. */
std::vector<Token> tokenize(const std::string& source);

std::string join(const std::vector<Token>& tokens);

/** Index of the bracket that closes the one at `open`, for (), [], {} and <>; tokens.size() if there is none. */
size_t find_closing(const std::vector<Token>& tokens, size_t open);

}  // namespace msl
