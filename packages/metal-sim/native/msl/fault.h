#pragma once

#include <string>

namespace msl {

enum class FaultKind {
  kDivergence,   ///< threads wait in different barriers or simdgroup operations
  kEarlyReturn,  ///< a thread ended before a barrier that others wait in
  kDeadlock,     ///< no thread can continue, or none did for too long
  kAddress,      ///< access to memory outside all bound buffers
  kStackOverflow,
  kThreadgroupMemory,  ///< more memory than a threadgroup may have
  kRace,               ///< two threads access a byte without a barrier in between, and one of them writes
  kUnwritten,          ///< unwritten memory was read, or an output was not written
  kArithmetic,
};

/** Why a dispatch failed. */
struct Fault {
  FaultKind kind;
  std::string kernel;
  std::string message;
  std::string file;  ///< of the kernel's source, or empty if unknown
  unsigned line = 0;
  unsigned group[3] = {};
  unsigned thread[3] = {};  ///< in its threadgroup

  /** "rms_norm: divergent barrier ... (rms_norm.metal:24, thread 3,0,0 of threadgroup 0,1,0)" */
  std::string describe() const;
};

/** Source position of an instruction, from the debug information of the file that contains it. */
struct SourcePosition {
  std::string file;
  unsigned line = 0;
};

/** Slow: runs llvm-symbolizer. Returns the innermost frame outside this package's headers. */
SourcePosition find_source(const void* instruction);

}  // namespace msl
