#include "fault.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "paths.h"

namespace msl {
namespace {

std::string triple(const unsigned* at) { return std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]); }

}  // namespace

std::string Fault::describe() const {
  std::string text = kernel + ": " + message + " (";
  if (line != 0) text += (file.empty() ? "line " : file + ":") + std::to_string(line) + ", ";
  return text + "thread " + triple(thread) + " of threadgroup " + triple(group) + ")";
}

SourcePosition find_source(const void* instruction) {
  Dl_info info{};
  if (!dladdr(instruction, &info) || !info.dli_fname) return {};
  const auto offset = static_cast<const char*>(instruction) - static_cast<const char*>(info.dli_fbase);
  std::ostringstream command;
  command << "llvm-symbolizer-19 --obj='" << info.dli_fname << "'" << std::hex;
  // Some instructions, such as the jump of a loop, have no line; then the following ones are tried.
  for (int step = 0; step < 8; ++step) command << " 0x" << offset + 3 * step;
  command << " 2>/dev/null";
  FILE* pipe = popen(command.str().c_str(), "r");
  if (!pipe) return {};
  SourcePosition found;
  char text[1024];
  while (std::fgets(text, sizeof text, pipe)) {
    // Output lines come in pairs: a function, then file:line:column.
    std::string position = text;
    const size_t column = position.rfind(':');
    const size_t line = column == std::string::npos ? column : position.rfind(':', column - 1);
    if (line == std::string::npos || line == 0) continue;
    const std::string file = position.substr(0, line);
    const int number = std::atoi(position.c_str() + line + 1);
    if (number <= 0 || file.find(include_folder()) != std::string::npos) continue;
    if (found.line == 0) found = {file.substr(file.rfind('/') + 1), static_cast<unsigned>(number)};
  }
  pclose(pipe);
  return found;
}

}  // namespace msl
