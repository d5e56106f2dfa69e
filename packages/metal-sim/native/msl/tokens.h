#pragma once

#include <string>
#include <vector>

namespace msl {

/** A piece of preprocessed source. Joining `space` and `text` of all tokens gives the source again. */
struct Token {
  enum class Kind { kIdentifier, kNumber, kText, kPunctuator, kDirective, kEnd };
  Kind kind = Kind::kEnd;
  std::string space;  ///< what stands before it: blanks and newlines
  std::string text;
  std::string file;
  unsigned line = 0;

  bool is(const char* expected) const { return text == expected; }
  bool is_identifier() const { return kind == Kind::kIdentifier; }
};

/** Cuts preprocessed source; line markers (`# 3 "file"`) decide which file and line a token belongs to. */
std::vector<Token> tokenize(const std::string& source);

std::string join(const std::vector<Token>& tokens);

/** Index of the bracket that closes the one at `open`, for (), [], {} and <>; tokens.size() when there is none. */
size_t find_closing(const std::vector<Token>& tokens, size_t open);

}  // namespace msl
