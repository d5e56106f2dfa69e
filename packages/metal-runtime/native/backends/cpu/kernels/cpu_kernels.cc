#include "cpu_kernels.h"

namespace markbase::cpu {

namespace generic {
extern const CpuKernel* const kKernels[];
}
#if defined(__x86_64__)
namespace avx2 {
extern const CpuKernel* const kKernels[];
}
namespace avx512 {
extern const CpuKernel* const kKernels[];
}
namespace avx512_bf16 {
extern const CpuKernel* const kKernels[];
}
#elif defined(__aarch64__)
namespace neon_dotprod {
extern const CpuKernel* const kKernels[];
}
namespace neon_i8mm {
extern const CpuKernel* const kKernels[];
}
#endif

namespace {

const CpuKernel* const* kernels_of(Isa isa) {
  switch (isa) {
    case Isa::kGeneric: return generic::kKernels;
#if defined(__x86_64__)
    case Isa::kAvx2: return avx2::kKernels;
    case Isa::kAvx512: return avx512::kKernels;
    case Isa::kAvx512Bf16: return avx512_bf16::kKernels;
#elif defined(__aarch64__)
    case Isa::kNeonDotprod: return neon_dotprod::kKernels;
    case Isa::kNeonI8mm: return neon_i8mm::kKernels;
#endif
    default: return nullptr;
  }
}

}  // namespace

const CpuKernel* find_kernel(Isa isa, std::string_view family) {
  const CpuKernel* const* kernel = kernels_of(isa);
  if (kernel == nullptr) return nullptr;
  for (; *kernel != nullptr; ++kernel) {
    if (family == (*kernel)->name) return *kernel;
  }
  return nullptr;
}

}  // namespace markbase::cpu
