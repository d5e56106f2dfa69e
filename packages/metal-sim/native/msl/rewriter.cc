#include "rewriter.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "kernel_parameters.h"
#include "ptx_entry.h"
#include "strict_rules.h"
#include "tokens.h"

namespace msl {
namespace {

[[noreturn]] void fail(const Token& at, const std::string& message) {
  throw RewriteError(at.file + ":" + std::to_string(at.line) + ": error: " + message);
}

bool is_address_space(const Token& token) {
  return token.is("device") || token.is("constant") || token.is("threadgroup") || token.is("thread");
}

/** "1.5" → "1.5f": Metal has no double. Suffixes h and bf name the 16-bit types. */
std::string float_literal(std::string text) {
  const bool is_hexadecimal = text.size() > 1 && text[0] == '0' && std::tolower(text[1]) == 'x';
  const bool is_float = text.find('.') != std::string::npos || text.find_first_of(is_hexadecimal ? "pP" : "eE") != std::string::npos;
  auto ends_with = [&](const char* suffix) { return text.ends_with(suffix); };
  if (is_hexadecimal && !is_float) return text;
  if (ends_with("bf") || ends_with("BF")) return "((bfloat)" + text.substr(0, text.size() - 2) + "f)";
  if (ends_with("h") || ends_with("H")) return "((half)" + text.substr(0, text.size() - 1) + "f)";
  if (!is_float || ends_with("f") || ends_with("F")) return text;
  return text + "f";
}

/** Words that have a meaning in OpenCL but not in Metal. */
const std::set<std::string>& reserved_names() {
  static const std::set<std::string> names = {"global",     "local",   "generic",   "pipe",    "read_only", "write_only",
                                              "read_write", "event_t", "sampler_t", "queue_t", "__kernel"};
  return names;
}

std::set<std::string> vector_type_names() {
  std::set<std::string> names;
  for (const char* element : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "half", "bfloat", "bool"}) {
    for (int size = 2; size <= 4; ++size) names.insert(element + std::to_string(size));
  }
  return names;
}

/** The target of the rewriting; see rewriter.h. */
enum class Dialect { kCpu, kStrict, kPtx };

class Rewriter {
 public:
  Rewriter(std::vector<Token> tokens, Dialect dialect)
      : tokens_(std::move(tokens)),
        type_names_(vector_type_names()),
        is_strict_(dialect == Dialect::kStrict),
        is_ptx_(dialect == Dialect::kPtx) {}

  std::string run() {
    for (Token& token : tokens_) {
      if (is_strict_ && reserved_names().count(token.text)) token.text += "_";
    }
    collect_names();
    rewrite_program_scope();
    rewrite_tokens();
    if (is_strict_) return "#include \"strict.h\"\n" + join(tokens_) + "\n";
    if (is_ptx_) {
      return table_ + "#include \"device.h\"\nMSL_DEVICE_BEGIN\n" + join(tokens_) + "\nMSL_DEVICE_END\nnamespace msl_entries {\n" +
             entries_ + "}\n";
    }
    return "#include \"kernel.h\"\n#include \"module.h\"\n" + join(tokens_) + "\n" + module_end();
  }

 private:
  Token& at(size_t i) { return tokens_[std::min(i, tokens_.size() - 1)]; }

  void erase(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) at(i).text.clear();
  }

  std::string text_of(size_t begin, size_t end) {
    std::string text;
    for (size_t i = begin; i < end; ++i) {
      // Comments are gone and directives stay in place, so a blank can join tokens.
      if (!at(i).text.empty()) text += (text.empty() ? "" : " ") + at(i).text;
    }
    return text;
  }

  /** Names whose `name(...)` may construct a vector: aliases and template parameters. */
  void collect_names() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (at(i).is("using") && at(i + 1).is_identifier() && at(i + 2).is("=")) aliases_.insert(at(i + 1).text);
      if ((at(i).is("typename") || at(i).is("class")) && at(i + 1).is_identifier() &&
          (at(i + 2).is(",") || at(i + 2).is(">") || at(i + 2).is("="))) {
        aliases_.insert(at(i + 1).text);
      }
      if (at(i).is("typedef")) {
        size_t end = i;
        while (end < tokens_.size() && !at(end).is(";")) ++end;
        if (at(end - 1).is_identifier()) aliases_.insert(at(end - 1).text);
      }
    }
  }

  // ---- Declarations of the program scope: constants and kernels

  void rewrite_program_scope() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (at(i).is("namespace")) {
        while (i < tokens_.size() && !at(i).is("{") && !at(i).is(";") && !at(i).is("=")) ++i;
        continue;  // the body of a namespace is also program scope
      }
      if (at(i).is("template") && !at(i + 1).is("<")) {
        i = rewrite_instantiation(i);
      } else if (at(i).is("constant") && is_declaration_of_constant(i)) {
        i = rewrite_constant(i);
      } else if (at(i).is("kernel") && !(at(i - 1).is("[") && at(i + 1).is("]"))) {
        i = rewrite_kernel(i);
      } else if (at(i).is("kernel")) {
        i = rewrite_kernel(i + 2);
      } else if (at(i).is("{")) {
        i = find_closing(tokens_, i);
      } else if (at(i).is("(")) {
        i = find_closing(tokens_, i);
      }
    }
  }

  /** A variable, rather than a function that returns a pointer to constant memory: its name ends with =, ; or [. */
  bool is_declaration_of_constant(size_t begin) {
    for (size_t i = begin; i < tokens_.size(); ++i) {
      if (at(i).is("<")) i = find_closing(tokens_, i);
      if (at(i).is("=") || at(i).is(";") || at(i).is("[")) return true;
      if (at(i).is("(") || at(i).is("{") || at(i).is("}")) return false;
    }
    return false;
  }

  /** Returns the index of the declaration's last token. */
  size_t rewrite_constant(size_t begin) {
    size_t end = begin;
    while (end < tokens_.size() && !at(end).is(";")) end = at(end).is("{") || at(end).is("(") ? find_closing(tokens_, end) + 1 : end + 1;
    const std::string attribute = take_attribute(begin, end, "function_constant");
    size_t assign = begin;
    while (assign < end && !at(assign).is("=")) ++assign;
    size_t name = std::min(assign, end) - 1;
    while (name > begin && (at(name).text.empty() || at(name).is("]"))) {
      if (at(name).is("]"))
        while (!at(name).is("[")) --name;
      --name;
    }
    if (is_strict_) {
      at(begin).text = "__constant";
      // The value is unknown, but a constant needs one here.
      if (!attribute.empty()) at(end).text = " = {};";
      else if (assign == end) fail(at(begin), "a constant at program scope needs a value");
    } else if (!attribute.empty() && is_ptx_) {
      fail(at(name), "function constants have no counterpart in PTX");
    } else if (!attribute.empty()) {
      declare_function_constant(begin, name, end, attribute);
    } else if (assign < end && mentions_function_constant(assign, end)) {
      derived_ += "  " + at(name).text + " " + text_of(assign, end) + ";\n";
      mutable_constants_.insert(at(name).text);
      at(begin).text = "static";
      remove_const(begin, name);
      erase(assign, end);
    } else {
      const bool has_static = begin > 0 && (at(begin - 1).is("static") || at(begin - 1).is("constexpr"));
      at(begin).text = has_static ? "" : "static const";
    }
    return end;
  }

  void declare_function_constant(size_t begin, size_t name, size_t end, const std::string& index) {
    at(begin).text = "static";
    remove_const(begin, name);
    const std::string variable = at(name).text;
    mutable_constants_.insert(variable);
    at(end).text = "; static bool msl_has_" + variable + "; static const msl::ConstantEntry msl_constant_" + variable + "(\"" + variable +
                   "\", " + index + ", &" + variable + ", sizeof(" + variable + "), &msl_has_" + variable + ");";
  }

  void remove_const(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (at(i).is("const") || at(i).is("constexpr")) at(i).text.clear();
    }
    for (size_t i = begin; i-- > 0 && (at(i).is("const") || at(i).is("constexpr") || at(i).is("static"));) {
      at(i).text.clear();
    }
  }

  bool mentions_function_constant(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (mutable_constants_.count(at(i).text) || at(i).is("is_function_constant_defined")) return true;
    }
    return false;
  }

  /** Removes every `[[...]]` in the range and returns the argument of the requested one, or "". */
  std::string take_attribute(size_t begin, size_t end, const std::string& wanted) {
    std::string argument;
    for (size_t i = begin; i + 1 < end; ++i) {
      if (!at(i).is("[") || !at(i + 1).is("[")) continue;
      const size_t close = find_closing(tokens_, i);
      for (size_t k = i; k < close; ++k) {
        if (!at(k).is(wanted.c_str()) || !at(k + 1).is("(")) continue;
        argument = text_of(k + 2, find_closing(tokens_, k + 1));
      }
      erase(i, close + 1);
      i = close;
    }
    return argument;
  }

  /** `template [[host_name("x")]] kernel void f<T>(...);` → registration of &f<T>. Returns its last token. */
  size_t rewrite_instantiation(size_t begin) {
    size_t end = begin;
    while (end < tokens_.size() && !at(end).is(";")) ++end;
    bool is_kernel = false;
    for (size_t i = begin; i < end; ++i) is_kernel = is_kernel || at(i).is("kernel");
    if (!is_kernel) return end;
    const Token where = at(begin);
    const std::string host_name = take_attribute(begin, end, "host_name");
    for (size_t i = begin; i < end; ++i) {
      auto found = kernels_.find(at(i).text);
      if (found == kernels_.end() || !at(i + 1).is("<")) continue;
      const size_t close = find_closing(tokens_, i + 1);
      const std::string function = text_of(i, close + 1);
      if (host_name.empty()) fail(where, "an instantiation of a kernel needs a host_name attribute");
      if (is_strict_) {
        for (size_t k = begin; k < end; ++k) {
          if (at(k).is("kernel")) at(k).text.clear();
        }
        return end;
      }
      erase(begin, end + 1);
      at(begin).text = registration(host_name, function, found->second, where.line);
      return end;
    }
    fail(where, "this instantiates no kernel template that was defined before it");
  }

  struct Kernel {
    std::string table;
    std::string max_threads;
    std::vector<ParameterText> parameters;
  };

  std::string registration(const std::string& quoted_name, const std::string& function, const Kernel& kernel, unsigned line) {
    if (is_ptx_) {
      const EntryText entry = describe_entry(quoted_name, function, kernel.parameters, kernel.max_threads);
      entries_ += entry.definition;
      table_ += entry.table;
      return "";
    }
    const std::string id = std::to_string(next_id_++);
    return "static void msl_entry_" + id + "(const msl::Call& call) { msl::invoke(&" + function + ", call, " + kernel.table +
           "); } static const msl::KernelEntry msl_kernel_" + id + "(" + quoted_name + ", &" + function + ", msl_entry_" + id + ", " +
           kernel.table + ", " + kernel.max_threads + ", " + std::to_string(line) + ");";
  }

  /** Rewrites a definition that begins with `kernel`. Returns the index before its body, which is rewritten like any other. */
  size_t rewrite_kernel(size_t word) {
    size_t open = word;
    while (open < tokens_.size() && !at(open).is("(")) open = at(open).is("[") ? find_closing(tokens_, open) + 1 : open + 1;
    const size_t close = find_closing(tokens_, open);
    const size_t name = open - 1;
    size_t begin = word;
    while (begin > 0 && !at(begin - 1).is(";") && !at(begin - 1).is("}") && at(begin - 1).kind != Token::Kind::kDirective) {
      --begin;
    }
    const Token where = at(name);
    bool is_template = false;
    for (size_t i = begin; i < word; ++i) is_template = is_template || at(i).is("template");
    size_t body = close + 1;
    const std::string late_threads = take_attribute(close, close + 1, "");
    while (at(body).is("[")) body = find_closing(tokens_, body) + 1;
    if (at(body).is(";")) return body;
    if (!at(body).is("{")) fail(where, "a kernel's parameters are followed by its body");
    if (kernels_.count(where.text)) {
      fail(where, "a second kernel function " + where.text + ": overloads cannot be told apart by name");
    }
    Kernel kernel;
    kernel.table = "msl_parameters_" + std::to_string(next_id_++);
    std::string table = "static const msl::Parameter " + kernel.table + "[] = {" +
                        describe_parameters(where, open, close, &kernel.parameters) + "};";
    if (is_ptx_) table.clear();
    const std::string max_threads = take_attribute(begin, word, "max_total_threads_per_threadgroup");
    kernel.max_threads = max_threads.empty() ? "0" : max_threads;
    const size_t attributes_end = name;
    std::string host_name = take_attribute(word, attributes_end, "host_name");
    if (at(word).is("kernel")) at(word).text = "static";
    const size_t body_end = find_closing(tokens_, body);
    kernels_[where.text] = kernel;
    if (host_name.empty()) host_name = '"' + where.text + '"';
    if (is_strict_) {
      if (!at(name - 1).is("void")) fail(where, "kernel " + where.text + " returns a value, expected void");
    } else {
      at(body_end).text = "} " + table;
      if (!is_template) at(body_end).text += " " + registration(host_name, where.text, kernel, where.line);
    }
    rewrite_threadgroup_variables(body + 1, body_end);
    return body_end;
  }

  std::string describe_parameters(const Token& kernel, size_t open, size_t close, std::vector<ParameterText>* out) {
    std::string table;
    std::set<std::pair<int, int>> taken;
    for (size_t begin = open + 1; begin < close;) {
      size_t end = begin;
      while (end < close && !at(end).is(",")) {
        const bool opens = at(end).is("(") || at(end).is("[") || at(end).is("<") || at(end).is("{");
        end = opens ? find_closing(tokens_, end) + 1 : end + 1;
      }
      ParameterText parameter =
          describe_parameter(std::vector<Token>(tokens_.begin() + static_cast<long>(begin), tokens_.begin() + static_cast<long>(end)));
      if (!parameter.error.empty()) fail(kernel, "kernel " + kernel.text + ": " + parameter.error);
      if (parameter.slot >= 0 && !taken.insert({parameter.space, parameter.slot}).second) {
        fail(kernel, "kernel " + kernel.text + ": two parameters have index " + std::to_string(parameter.slot));
      }
      table += parameter.record + ", ";
      out->push_back(parameter);
      take_attribute(begin, end, "");
      begin = end + 1;
    }
    return table;
  }

  /** `threadgroup float x[8], y;` → references to memory of the group. */
  void rewrite_threadgroup_variables(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!at(i).is("threadgroup")) continue;
      const bool is_statement = at(i - 1).is("{") || at(i - 1).is("}") || at(i - 1).is(";") || at(i - 1).text.empty();
      size_t stop = i;
      while (stop < end && !at(stop).is(";")) ++stop;
      size_t name = i + 1;
      while (name < stop && !at(name).is("[") && !at(name).is(",") && !at(name).is("=") && !at(name).is("*") && !at(name).is("&")) {
        name = at(name).is("<") ? find_closing(tokens_, name) + 1 : name + 1;
      }
      if (!is_statement || at(name).is("*") || at(name).is("&")) continue;
      if (at(name).is("=")) fail(at(i), "a threadgroup variable cannot be initialised");
      const std::string type = text_of(i + 1, name - 1);
      std::string made;
      for (size_t item = name - 1; item < stop;) {
        size_t item_end = item + 1;
        while (item_end < stop && !at(item_end).is(",")) {
          item_end = at(item_end).is("[") ? find_closing(tokens_, item_end) + 1 : item_end + 1;
        }
        const std::string id = std::to_string(next_id_++), variable = at(item).text;
        const std::string space = is_strict_ ? "__local " : "";
        made += "typedef " + type + " msl_type_" + id + " " + text_of(item + 1, item_end) + "; " + space + "msl_type_" + id + "& " +
                variable + " = " + (is_strict_ ? "*" : "") + "msl::threadgroup_variable<msl_type_" + id + ", " + id + ">(\"" + variable +
                "\", " + std::to_string(at(i).line) + "); ";
        item = item_end + 1;
      }
      erase(i, stop + 1);
      at(i).text = made;
      i = stop;
    }
  }

  // ---- Single tokens

  void rewrite_tokens() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      Token& token = at(i);
      if (token.kind == Token::Kind::kDirective) {
        rewrite_directive(token);
      } else if (token.kind == Token::Kind::kNumber) {
        token.text = float_literal(token.text);
      } else if (token.is("[") && at(i + 1).is("[")) {
        i = rewrite_attribute(i);
      } else if (token.is_identifier()) {
        rewrite_identifier(i);
      }
    }
  }

  void rewrite_directive(Token& token) {
    const std::string metal = "#pragma METAL fp contract";
    if (token.text.starts_with(metal)) token.text = "#pragma clang fp contract" + token.text.substr(metal.size());
    else if (token.text.starts_with("#pragma METAL")) token.text.clear();
  }

  size_t rewrite_attribute(size_t begin) {
    static const std::set<std::string> kept = {"maybe_unused", "nodiscard", "fallthrough", "likely", "unlikely", "clang", "gnu"};
    const size_t close = find_closing(tokens_, begin);
    if (!kept.count(at(begin + 2).text)) erase(begin, close + 1);
    return close;
  }

  void rewrite_identifier(size_t i) {
    Token& token = at(i);
    const bool is_member = i > 0 && (at(i - 1).is(".") || at(i - 1).is("->"));
    if (is_member) return;
    if (is_strict_ && is_address_space(token)) {
      token.text = token.is("device") ? "__global" : token.is("thread") ? "__private" : token.is("constant") ? "__constant" : "__local";
    } else if (is_address_space(token) || token.is("kernel")) {
      token.text.clear();
    } else if (token.is("static_cast")) {
      token.text = "msl::cast";
    } else if (token.is("is_function_constant_defined") && at(i + 1).is("(")) {
      token.text = "";
      at(i + 2).text = "msl_has_" + at(i + 2).text;
    } else if (token.is("vec") && at(i + 1).is("<")) {
      const size_t close = find_closing(tokens_, i + 1);
      if (at(close + 1).is("(")) wrap(i, close);
    } else if (type_names_.count(token.text)) {
      if (at(i + 1).is("(")) wrap(i, i);
      const Token& behind = at(i + 2);
      const bool is_operand = behind.is_identifier() || behind.is("(") || behind.kind == Token::Kind::kNumber;
      const bool is_cast = i > 0 && at(i - 1).is("(") && at(i + 1).is(")") && is_operand && !behind.is("const");
      if (is_cast) fail(token, "(" + token.text + ")x is a conversion in C style: write " + token.text + "(x)");
    } else if (aliases_.count(token.text) && at(i + 1).is("(") && !(i > 0 && at(i - 1).is("~"))) {
      wrap(i, i);
    }
  }

  /** `T(` → `msl::make<T>(`. */
  void wrap(size_t begin, size_t end) {
    if (begin > 1 && at(begin - 1).is("::") && at(begin - 2).is("metal")) erase(begin - 2, begin);
    at(begin).text = "msl::make<" + at(begin).text;
    at(end).text += ">";
  }

  std::string module_end() { return "static void msl_derive() {\n" + derived_ + "}\nMSL_MODULE(msl_derive)\n"; }

  std::vector<Token> tokens_;
  std::set<std::string> type_names_;
  std::set<std::string> aliases_;
  std::set<std::string> mutable_constants_;
  std::map<std::string, Kernel> kernels_;
  std::string derived_;
  std::string entries_;
  std::string table_;
  bool is_strict_;
  bool is_ptx_;
  unsigned next_id_ = 0;
};

}  // namespace

std::string rewrite(const std::string& preprocessed) { return Rewriter(tokenize(preprocessed), Dialect::kCpu).run(); }

std::string rewrite_for_ptx(const std::string& preprocessed) { return Rewriter(tokenize(preprocessed), Dialect::kPtx).run(); }

std::string rewrite_strictly(const std::string& preprocessed) {
  std::vector<Token> tokens = tokenize(preprocessed);
  if (const std::string problem = find_forbidden(tokens); !problem.empty()) throw RewriteError(problem);
  return Rewriter(std::move(tokens), Dialect::kStrict).run();
}

}  // namespace msl
