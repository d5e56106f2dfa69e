#pragma once

#include "kernel.h"

// The table of contents of a library: kernels and function constants register themselves when it is loaded.

namespace msl {

inline constexpr unsigned kMaxEntries = 4096;

struct KernelList {
  KernelRecord records[kMaxEntries];
  unsigned count;
};
struct ConstantList {
  ConstantRecord records[256];
  unsigned count;
};
static KernelList kernel_list;
static ConstantList constant_list;

template <typename... P>
struct ReferenceSizes {
  static constexpr unsigned kBytes[sizeof...(P) + 1] = {RemoveReference<P>::kBytes..., 0};
};

struct KernelEntry {
  template <typename... P>
  KernelEntry(
      const char* name, void (*)(P...), void (*entry)(const Call&), const Parameter* parameters, unsigned max_threads, unsigned line) {
    kernel_list.records[kernel_list.count++] = {name, entry, parameters, ReferenceSizes<P...>::kBytes, sizeof...(P), max_threads, line};
  }
};

struct ConstantEntry {
  ConstantEntry(const char* name, unsigned index, void* address, unsigned size, bool* is_defined) {
    constant_list.records[constant_list.count++] = {name, index, address, size, is_defined};
  }
};

}  // namespace msl

// Conversions to bfloat that compilers call but whose older libraries lack them: to nearest, ties to even.
extern "C" {
__attribute__((visibility("hidden"), weak)) __bf16 __truncsfbf2(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const unsigned rounded = is_nan ? bits >> 16 | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return __builtin_bit_cast(__bf16, static_cast<unsigned short>(rounded));
}
}

#if defined(MSL_CHECKS)
// The compiler calls these before every memory access that is not provably private to a thread.
#define MSL_HOOK extern "C" __attribute__((no_sanitize("thread"), disable_sanitizer_instrumentation, visibility("hidden")))
#define MSL_ACCESS_HOOKS(SIZE)                                                       \
  MSL_HOOK void __tsan_read##SIZE(void* p) { MSL_REPORT(p, SIZE, false); }           \
  MSL_HOOK void __tsan_write##SIZE(void* p) { MSL_REPORT(p, SIZE, true); }           \
  MSL_HOOK void __tsan_unaligned_read##SIZE(void* p) { MSL_REPORT(p, SIZE, false); } \
  MSL_HOOK void __tsan_unaligned_write##SIZE(void* p) { MSL_REPORT(p, SIZE, true); } \
  MSL_HOOK void __tsan_read_write##SIZE(void* p) { MSL_REPORT(p, SIZE, true); }      \
  MSL_HOOK void __tsan_unaligned_read_write##SIZE(void* p) { MSL_REPORT(p, SIZE, true); }
#define MSL_REPORT(ADDRESS, SIZE, IS_WRITE) \
  if (msl::runtime) msl::runtime->access(ADDRESS, SIZE, IS_WRITE, __builtin_return_address(0))
MSL_ACCESS_HOOKS(1) MSL_ACCESS_HOOKS(2) MSL_ACCESS_HOOKS(4) MSL_ACCESS_HOOKS(8) MSL_ACCESS_HOOKS(16) MSL_HOOK void __tsan_init() {}
MSL_HOOK void __tsan_func_entry(void*) {}
MSL_HOOK void __tsan_func_exit() {}
MSL_HOOK void* __tsan_memcpy(void* target, const void* source, unsigned long size) {
  MSL_REPORT(source, size, false);
  MSL_REPORT(target, size, true);
  return __builtin_memcpy(target, source, size);
}
MSL_HOOK void* __tsan_memmove(void* target, const void* source, unsigned long size) {
  MSL_REPORT(source, size, false);
  MSL_REPORT(target, size, true);
  return __builtin_memmove(target, source, size);
}
MSL_HOOK void* __tsan_memset(void* target, int value, unsigned long size) {
  MSL_REPORT(target, size, true);
  return __builtin_memset(target, value, size);
}
#endif

#define MSL_MODULE(DERIVE)                                                                          \
  extern "C" __attribute__((visibility("default"))) const msl::Module* msl_module() {               \
    static const msl::Module module = {MSL_ABI,                                                     \
                                       msl::kernel_list.records,                                    \
                                       msl::kernel_list.count,                                      \
                                       msl::constant_list.records,                                  \
                                       msl::constant_list.count,                                    \
                                       [](const msl::Runtime* runtime) { msl::runtime = runtime; }, \
                                       DERIVE};                                                     \
    return &module;                                                                                 \
  }
