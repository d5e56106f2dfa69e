#pragma once

// Included by the output of rewrite_for_ptx: everything that a kernel uses is device code and is inlined into its entry.

#define MSL_DEVICE_BEGIN \
  _Pragma("clang force_cuda_host_device begin") _Pragma("clang attribute push(__attribute__((always_inline)), apply_to = function)")
#define MSL_DEVICE_END _Pragma("clang attribute pop") _Pragma("clang force_cuda_host_device end")

MSL_DEVICE_BEGIN

#include "../include/atomic.h"
#include "../include/matrix.h"

namespace msl {

template <typename F, unsigned index>
struct ParameterOf;
template <typename First, typename... Rest, unsigned index>
struct ParameterOf<void (*)(First, Rest...), index> : ParameterOf<void (*)(Rest...), index - 1> {};
template <typename First, typename... Rest>
struct ParameterOf<void (*)(First, Rest...), 0> {
  using Type = First;
};

template <typename P>
struct Passed;
/** constant T&: the launch copies a T. */
template <typename T>
struct Passed<T&> {
  using Value = T;
  using Pointer = T*;
};
template <typename T>
struct Passed<T*> {
  using Pointer = T*;
};
/** Bytes that a kernel only reads are weights, gains and tables, which are constant during a step: loads may be cached. */
template <>
struct Passed<const uchar*> {
  using Pointer = const uchar* __restrict__;
};

/** Parameter types of an entry, derived from those of the kernel. */
template <typename F, unsigned index>
using Value = typename Passed<typename ParameterOf<F, index>::Type>::Value;
template <typename F, unsigned index>
using Pointer = typename Passed<typename ParameterOf<F, index>::Type>::Pointer;

/** Position of a thread. Threadgroups have one dimension, grids three. */
template <typename F, unsigned index>
inline typename ParameterOf<F, index>::Type place(ParameterKind what) {
  const uint thread = __nvvm_read_ptx_sreg_tid_x(), threads = __nvvm_read_ptx_sreg_ntid_x();
  const uint group[3] = {uint(__nvvm_read_ptx_sreg_ctaid_x()), uint(__nvvm_read_ptx_sreg_ctaid_y()), uint(__nvvm_read_ptx_sreg_ctaid_z())};
  const uint groups[3] = {uint(__nvvm_read_ptx_sreg_nctaid_x()), uint(__nvvm_read_ptx_sreg_nctaid_y()),
                          uint(__nvvm_read_ptx_sreg_nctaid_z())};
  using P = PositionOf<typename ParameterOf<F, index>::Type>;
  const auto of = [](uint x, uint y = 0, uint z = 0) {
    const uint at[3] = {x, y, z};
    return P::from(at);
  };
  switch (what) {
    case ParameterKind::kThreadPositionInGrid: return of(group[0] * threads + thread, group[1], group[2]);
    case ParameterKind::kThreadPositionInThreadgroup: return of(thread);
    case ParameterKind::kThreadgroupPositionInGrid: return of(group[0], group[1], group[2]);
    case ParameterKind::kThreadsPerThreadgroup: return of(threads, 1, 1);
    case ParameterKind::kThreadgroupsPerGrid: return of(groups[0], groups[1], groups[2]);
    case ParameterKind::kThreadsPerGrid: return of(groups[0] * threads, groups[1], groups[2]);
    case ParameterKind::kThreadIndexInThreadgroup: return of(thread);
    case ParameterKind::kThreadIndexInSimdgroup: return of(thread % 32);
    case ParameterKind::kSimdgroupIndexInThreadgroup: return of(thread / 32);
    case ParameterKind::kThreadsPerSimdgroup: return of(32);
    case ParameterKind::kSimdgroupsPerThreadgroup: return of(threads / 32);
    case ParameterKind::kQuadgroupIndexInThreadgroup: return of(thread / 4);
    case ParameterKind::kThreadIndexInQuadgroup: return of(thread % 4);
    default: return {};
  }
}

/** A variable in threadgroup memory; vectors may be read from it. Static, because the modules of a program are independent. */
template <typename T, unsigned id>
static inline T& threadgroup_variable(const char*, unsigned) {
  static __attribute__((shared)) T memory __attribute__((aligned(16)));
  return memory;
}

}  // namespace msl

extern "C" __attribute__((shared)) metal::float4 msl_dynamic_memory[];

namespace msl {

/** Threadgroup memory whose size is set by the launch. */
template <typename F, unsigned index>
inline typename ParameterOf<F, index>::Type dynamic_memory() {
  return reinterpret_cast<typename ParameterOf<F, index>::Type>(msl_dynamic_memory);
}

}  // namespace msl

MSL_DEVICE_END
