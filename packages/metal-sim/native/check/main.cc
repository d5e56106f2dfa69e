// Reads preprocessed Metal and writes source for a compiler: by default the C++ for OpenCL that msl-check.mjs checks, with --ptx the C++
// that is compiled to PTX.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "../msl/rewriter.h"

int main(int count, char** arguments) {
  const bool is_ptx = count > 1 && std::string(arguments[1]) == "--ptx";
  const std::string source{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  try {
    std::cout << (is_ptx ? msl::rewrite_for_ptx(source) : msl::rewrite_strictly(source));
    return 0;
  } catch (const msl::RewriteError& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
