#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu_kernel.h"
#include "linear_core.h"

/** Typed access to the arguments of a kernel. */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

/** The instruction set that this namespace is compiled for. */
inline constexpr Isa kIsa = Isa::MARKBASE_ISA;

template <typename Params>
inline const Params& params_of(const CpuCall& call) {
  return *static_cast<const Params*>(call.params);
}

template <typename T>
inline T* buffer(const CpuCall& call, uint32_t index) {
  return static_cast<T*>(call.buffers[index]);
}

inline uint32_t divide_up(uint32_t a, uint32_t b) { return a / b + (a % b != 0); }

inline size_t align_up(size_t bytes) { return (bytes + 127) & ~size_t{127}; }

inline uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
inline uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
