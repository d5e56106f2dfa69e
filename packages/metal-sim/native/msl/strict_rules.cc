#include "strict_rules.h"

#include <map>
#include <set>

namespace msl {
namespace {

/** C++ words that Metal does not have, and why. */
const std::map<std::string, const char*>& forbidden_words() {
  static const std::map<std::string, const char*> words = {
      {"double", "Metal has no double: write float"},
      {"virtual", "Metal has no virtual functions"},
      {"new", "Metal has no memory allocation"},
      {"delete", "Metal has no memory allocation"},
      {"goto", "Metal has no goto"},
      {"try", "Metal has no exceptions"},
      {"throw", "Metal has no exceptions"},
      {"catch", "Metal has no exceptions"},
      {"dynamic_cast", "Metal has no run-time types"},
      {"typeid", "Metal has no run-time types"},
      {"thread_local", "Metal has no thread_local"},
      {"asm", "Metal has no inline assembly"},
      {"__asm__", "Metal has no inline assembly"},
      {"std", "Metal has no C++ standard library: use namespace metal"},
      {"co_await", "Metal has no coroutines"},
      {"__global", "an address space of OpenCL: write device"},
      {"__local", "an address space of OpenCL: write threadgroup"},
  };
  return words;
}

const std::set<std::string>& scalar_names() {
  static const std::set<std::string> names = {"bool",    "char",     "uchar",   "short",    "ushort", "int",      "uint",    "long",
                                              "ulong",   "float",    "half",    "bfloat",   "int8_t", "uint8_t",  "int16_t", "uint16_t",
                                              "int32_t", "uint32_t", "int64_t", "uint64_t", "size_t", "unsigned", "void"};
  return names;
}

bool is_space(const Token& token) { return token.is("device") || token.is("constant") || token.is("threadgroup") || token.is("thread"); }

class Rules {
 public:
  explicit Rules(const std::vector<Token>& tokens) : tokens_(tokens) {}

  std::string run() {
    collect_types();
    for (size_t i = 0; i < tokens_.size() && problem_.empty(); ++i) {
      const Token& token = tokens_[i];
      check_word(i);
      if (problem_.empty()) check_pointer(i);
      if (problem_.empty() && token.is("[")) check_lambda(i);
    }
    if (problem_.empty()) check_scopes();
    if (problem_.empty()) check_recursion();
    return problem_;
  }

 private:
  const Token& at(size_t i) const { return tokens_[i < tokens_.size() ? i : tokens_.size() - 1]; }

  void refuse(size_t i, const std::string& message) {
    if (problem_.empty()) problem_ = at(i).file + ":" + std::to_string(at(i).line) + ": error: " + message;
  }

  void collect_types() {
    types_ = scalar_names();
    for (const std::string& scalar : scalar_names()) {
      for (int size = 2; size <= 4; ++size) types_.insert(scalar + std::to_string(size));
    }
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
      const bool names_type = at(i).is("struct") || at(i).is("typename") || at(i).is("class") || at(i).is("using");
      if (names_type && at(i + 1).is_identifier()) types_.insert(at(i + 1).text);
    }
    types_.erase("namespace");
  }

  void check_word(size_t i) {
    const Token& token = tokens_[i];
    if (!token.is_identifier()) return;
    // A member or a function may have this name.
    if (i > 0 && (at(i - 1).is(".") || at(i - 1).is("->"))) return;
    auto found = forbidden_words().find(token.text);
    if (found != forbidden_words().end()) refuse(i, found->second);
  }

  /** Pointers and references must name the address space that they point to. */
  void check_pointer(size_t i) {
    if (!at(i + 1).is("*") && !at(i + 1).is("&")) return;
    size_t begin = i;
    if (at(i).is(">")) {
      // vec<T, 4>*
      int depth = 0;
      for (begin = i + 1; begin-- > 0;) {
        depth += at(begin).is(">") ? 1 : at(begin).is("<") ? -1 : 0;
        if (depth == 0) break;
      }
      if (begin == 0 || !at(begin - 1).is("vec")) return;
      --begin;
    } else if (!at(i).is_identifier() || !types_.count(at(i).text)) {
      return;
    }
    // A function parameter of a macro or an operator is not a declarator.
    if (at(i + 2).is("operator")) return;
    for (size_t k = i + 2; k < i + 4; ++k) {
      if (is_space(at(k))) return;
    }
    while (begin > 0 && (at(begin - 1).is_identifier() || at(begin - 1).is("::"))) {
      --begin;
      if (is_space(at(begin))) return;
    }
    // "device packed<T>* p" and "T const device* p" end the loop above early; qualifiers after the type also count.
    if (is_space(at(i + 1)) || (at(i).is("const") && is_space(at(i - 1)))) return;
    refuse(i, "a pointer or reference to " + at(i).text + " names no address space: device, constant, threadgroup or thread");
  }

  /** `[...] (` or `[...] {` without a preceding name or bracket. */
  void check_lambda(size_t i) {
    if (at(i + 1).is("[") || (i > 0 && at(i - 1).is("["))) return;
    if (i > 0 && (at(i - 1).is_identifier() || at(i - 1).is("]") || at(i - 1).is(")") || at(i - 1).is(">"))) {
      if (!at(i - 1).is("return")) return;
    }
    const size_t close = find_closing(tokens_, i);
    if (at(close + 1).is("(") || at(close + 1).is("{")) refuse(i, "Metal has no lambdas");
  }

  struct Function {
    size_t name;
    size_t body;
    size_t end;
    bool is_kernel;
  };

  /** Functions and other declarations at program scope. */
  void check_scopes() {
    size_t begin = 0;
    for (size_t i = 0; i < tokens_.size() && problem_.empty(); ++i) {
      const Token& token = tokens_[i];
      if (token.kind == Token::Kind::kDirective || token.is(";") || token.is("}")) {
        if (token.is(";")) check_program_declaration(begin, i);
        begin = i + 1;
      } else if (token.is("{")) {
        const bool is_namespace = begin < i && (at(begin).is("namespace") || at(begin).is("extern"));
        if (is_namespace) {
          begin = i + 1;
          continue;
        }
        const size_t close = find_closing(tokens_, i);
        add_function(begin, i, close);
        i = close;
        // A structure's body is followed by a semicolon, a function's is not.
        begin = at(close + 1).is(";") ? close + 2 : close + 1;
        if (at(close + 1).is(";")) ++i;
      } else if (token.is("(") || token.is("[")) {
        i = find_closing(tokens_, i);
      }
    }
    for (const Function& function : functions_) check_body(function);
  }

  /** A declaration without a body: anything but a constant, a type, a function or a using is a global variable. */
  void check_program_declaration(size_t begin, size_t end) {
    bool is_variable = end > begin + 1;
    for (size_t i = begin; i < end; ++i) {
      const bool is_other = at(i).is("constant") || at(i).is("using") || at(i).is("typedef") || at(i).is("struct") || at(i).is("enum") ||
                            at(i).is("template") || at(i).is("static_assert") || at(i).is("(") || at(i).is("_Static_assert") ||
                            at(i).is("union") || at(i).is("class");
      if (is_other) is_variable = false;
      if (at(i).is("=")) break;
    }
    if (is_variable) refuse(begin, "a variable at program scope must be in constant memory: write constant before it");
  }

  void add_function(size_t begin, size_t open, size_t close) {
    for (size_t i = begin; i < open; ++i) {
      if (at(i).is("struct") || at(i).is("union") || at(i).is("enum") || at(i).is("class") || at(i).is("=")) {
        if (!at(begin).is("template")) return;
      }
      if (at(i).is("<")) {
        i = find_closing(tokens_, i);
        continue;
      }
      if (!at(i).is("(") || i == begin || !at(i - 1).is_identifier()) continue;
      bool is_kernel = false;
      for (size_t k = begin; k < i; ++k) is_kernel = is_kernel || at(k).is("kernel");
      functions_.push_back({i - 1, open, close, is_kernel});
      return;
    }
  }

  void check_body(const Function& function) {
    for (size_t i = function.body + 1; i < function.end && problem_.empty(); ++i) {
      if (at(i).is("static")) refuse(i, "Metal has no static variables in functions");
      if (at(i).is("constant") && !at(i - 1).is("(") && !at(i - 1).is("<") && !has_declarator(i, function.end)) {
        refuse(i, "a constant variable belongs to program scope");
      }
      const bool is_statement = at(i - 1).is("{") || at(i - 1).is("}") || at(i - 1).is(";");
      if (at(i).is("device") && is_statement && !has_declarator(i, function.end)) {
        refuse(i, "a variable in a function cannot be in device memory");
      }
      if (at(i).is("threadgroup") && is_statement && !function.is_kernel && !has_declarator(i, function.end)) {
        refuse(i, "a threadgroup variable belongs in a kernel");
      }
    }
  }

  /** True if the declaration that begins here is of a pointer or reference. */
  bool has_declarator(size_t i, size_t end) const {
    for (; i < end && !at(i).is(";") && !at(i).is("="); ++i) {
      if (at(i).is("*") || at(i).is("&")) return true;
    }
    return false;
  }

  /** Functions with a single definition that call themselves, directly or indirectly. */
  void check_recursion() {
    std::map<std::string, std::set<std::string>> calls;
    std::map<std::string, int> definitions;
    std::map<std::string, size_t> places;
    for (const Function& function : functions_) definitions[at(function.name).text] += 1;
    for (const Function& function : functions_) {
      const std::string& name = at(function.name).text;
      if (definitions[name] != 1) continue;
      places[name] = function.name;
      for (size_t i = function.body; i < function.end; ++i) {
        const bool is_call = at(i).is_identifier() && (at(i + 1).is("(") || at(i + 1).is("<"));
        if (is_call && definitions.count(at(i).text) && definitions[at(i).text] == 1) calls[name].insert(at(i).text);
      }
    }
    for (const auto& [name, place] : places) {
      std::set<std::string> reached = calls[name];
      for (size_t before = 0; before != reached.size();) {
        before = reached.size();
        for (const std::string& callee : std::set<std::string>(reached)) {
          reached.insert(calls[callee].begin(), calls[callee].end());
        }
      }
      if (reached.count(name)) refuse(place, "function " + name + " calls itself: Metal has no recursion");
    }
  }

  const std::vector<Token>& tokens_;
  std::set<std::string> types_;
  std::vector<Function> functions_;
  std::string problem_;
};

}  // namespace

std::string find_forbidden(const std::vector<Token>& tokens) { return Rules(tokens).run(); }

}  // namespace msl
