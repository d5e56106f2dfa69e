#pragma once

/**
 * The interface between a compiled kernel library and the runtime that executes it. Included by both sides, so it uses only the compiler's
 * own types. Change MSL_ABI with every change of this file: it is part of the key of the kernel cache.
 */

#define MSL_ABI 4

// Header functions that access the runtime's memory are not checked; those that access a kernel's memory are.
#if defined(MSL_CHECKS)
#define MSL_UNCHECKED_BEGIN _Pragma("clang attribute push(__attribute__((no_sanitize(\"thread\"))), apply_to = function)")
#define MSL_UNCHECKED_END _Pragma("clang attribute pop")
#else
#define MSL_UNCHECKED_BEGIN
#define MSL_UNCHECKED_END
#endif

namespace msl {

enum class ParameterKind : unsigned char {
  kBuffer,
  kThreadgroup,
  kThreadPositionInGrid,
  kThreadPositionInThreadgroup,
  kThreadgroupPositionInGrid,
  kThreadsPerThreadgroup,
  kThreadgroupsPerGrid,
  kThreadsPerGrid,
  kThreadIndexInThreadgroup,
  kThreadIndexInSimdgroup,
  kSimdgroupIndexInThreadgroup,
  kThreadsPerSimdgroup,
  kSimdgroupsPerThreadgroup,
  kQuadgroupIndexInThreadgroup,
  kThreadIndexInQuadgroup,
};

/** One parameter of a kernel. */
struct Parameter {
  const char* name;
  ParameterKind kind;
  unsigned char index;  ///< argument index of buffers and threadgroup memory
  bool is_writable;     ///< device memory without const
  bool is_optional;     ///< has a function_constant attribute: may stay unbound
  bool is_constant_space;
};

/** Position of a thread in its dispatch. */
struct ThreadContext {
  unsigned thread_in_grid[3];
  unsigned thread_in_group[3];
  unsigned group_in_grid[3];
  unsigned threads_per_group[3];
  unsigned groups_per_grid[3];
  unsigned threads_per_grid[3];
  unsigned index_in_group;
  unsigned lane;
  unsigned simdgroup;
  unsigned simdgroups;
};

inline constexpr unsigned kMaxArguments = 31;
inline constexpr unsigned kSimdWidth = 32;

/** Arguments of one thread. */
struct Call {
  void* const* buffers;             ///< [kMaxArguments]
  void* const* threadgroup_memory;  ///< [kMaxArguments]
  const ThreadContext* thread;
};

struct KernelRecord {
  const char* name;
  void (*entry)(const Call&);
  const Parameter* parameters;
  const unsigned* reference_bytes;  ///< size of the type that a reference parameter refers to, 0 for pointers
  unsigned parameter_count;
  unsigned max_threads;  ///< of [[max_total_threads_per_threadgroup]], or 0
  unsigned line;
};

/** A program-scope variable with a function_constant attribute. */
struct ConstantRecord {
  const char* name;
  unsigned index;
  void* address;
  unsigned size;
  bool* is_defined;
};

/** Called when the lanes of a simdgroup meet: `slots[i]` is the value of lane i, null for lanes that the threadgroup lacks. */
using Combine = void (*)(void* const* slots);

/** Functions of the runtime that kernels call. `file` and `line` are those of the call in the kernel's source. */
struct Runtime {
  void (*barrier)(unsigned flags, const char* file, unsigned line);
  void (*simdgroup_barrier)(unsigned flags, const char* file, unsigned line);
  void (*meet)(void* slot, Combine combine, const char* operation, unsigned line);
  void* (*threadgroup_variable)(unsigned id, unsigned long size, const char* name, unsigned line);
  void (*atomic_access)(unsigned line);
  void (*fence)(unsigned flags, const char* file, unsigned line);
  void (*access)(const volatile void* address, unsigned long size, bool is_write, const void* from);
  unsigned (*lane)();
  unsigned (*lane_count)();
  unsigned (*thread_index)();
  unsigned (*thread_count)();
  void (*refuse)(const char* message, unsigned line);  ///< ends the dispatch: an operation is used where it is not allowed
};

/** The table of contents of a library. */
struct Module {
  unsigned abi;
  const KernelRecord* kernels;
  unsigned kernel_count;
  const ConstantRecord* constants;
  unsigned constant_count;
  void (*bind)(const Runtime*);
  void (*derive_constants)();  ///< recomputes program-scope constants that depend on function constants
};

}  // namespace msl
