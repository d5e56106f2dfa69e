#include <initializer_list>

#include "isa_tables.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace markbase::cpu {
namespace {

#if defined(__x86_64__)

// The builtin also asks the operating system (xgetbv) whether it saves the wide registers.
bool has_avx2() {
  __builtin_cpu_init();
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  return has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni");
}

bool has_avx512_bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }

#elif defined(__aarch64__)

#if defined(__APPLE__)
bool has_feature(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
bool has_dotprod() { return has_feature("hw.optional.arm.FEAT_DotProd"); }
bool has_i8mm() { return has_dotprod() && has_feature("hw.optional.arm.FEAT_I8MM"); }
#elif defined(__linux__)
// Bits of the kernel's hwcap words; older C library headers lack the names.
constexpr unsigned long kHwcapDotprod = 1ul << 20;
constexpr unsigned long kHwcap2I8mm = 1ul << 13;
bool has_dotprod() { return (getauxval(AT_HWCAP) & kHwcapDotprod) != 0; }
bool has_i8mm() { return has_dotprod() && (getauxval(AT_HWCAP2) & kHwcap2I8mm) != 0; }
#else
bool has_dotprod() { return false; }
bool has_i8mm() { return false; }
#endif

#endif

}  // namespace

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
    case Isa::kAvx512Bf16: return "avx512-bf16";
    case Isa::kNeonDotprod: return "neon-dotprod";
    case Isa::kNeonI8mm: return "neon-i8mm";
    default: return "generic";
  }
}

bool isa_supported(Isa isa) {
  switch (isa) {
    case Isa::kGeneric: return true;
#if defined(__x86_64__)
    case Isa::kAvx2: return has_avx2();
    case Isa::kAvx512: return has_avx512();
    case Isa::kAvx512Bf16: return has_avx512_bf16();
#elif defined(__aarch64__)
    case Isa::kNeonDotprod: return has_dotprod();
    case Isa::kNeonI8mm: return has_i8mm();
#endif
    default: return false;
  }
}

Isa detect_isa() {
  for (const Isa isa : {Isa::kNeonI8mm, Isa::kNeonDotprod, Isa::kAvx512Bf16, Isa::kAvx512, Isa::kAvx2}) {
    if (isa_supported(isa)) return isa;
  }
  return Isa::kGeneric;
}

const LinearCore& linear_core(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2: return kAvx2Core;
    case Isa::kAvx512: return kAvx512Core;
    case Isa::kAvx512Bf16: return kAvx512Bf16Core;
#elif defined(__aarch64__)
    case Isa::kNeonDotprod: return kNeonDotprodCore;
    case Isa::kNeonI8mm: return kNeonI8mmCore;
#endif
    default: return kGenericCore;
  }
}

}  // namespace markbase::cpu
