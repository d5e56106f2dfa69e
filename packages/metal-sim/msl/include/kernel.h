#pragma once

#include "atomic.h"
#include "matrix.h"
#include "tensor.h"

MSL_UNCHECKED_BEGIN

// Entry points: fill a kernel's parameters from the tables that the rewriter generates.

namespace msl {

template <typename P>
struct RemoveReference {
  using Type = P;
  static constexpr unsigned kBytes = 0;
};
template <typename P>
struct RemoveReference<P&> {
  using Type = P;
  static constexpr unsigned kBytes = sizeof(P);
};

/** The value of one parameter of type P. Pointers and references come from the tables, numbers from the thread. */
template <typename P>
struct Argument {
  static P fetch(const Call& call, const Parameter& parameter) {
    const ThreadContext& thread = *call.thread;
    switch (parameter.kind) {
      case ParameterKind::kThreadPositionInGrid: return PositionOf<P>::from(thread.thread_in_grid);
      case ParameterKind::kThreadPositionInThreadgroup: return PositionOf<P>::from(thread.thread_in_group);
      case ParameterKind::kThreadgroupPositionInGrid: return PositionOf<P>::from(thread.group_in_grid);
      case ParameterKind::kThreadsPerThreadgroup: return PositionOf<P>::from(thread.threads_per_group);
      case ParameterKind::kThreadgroupsPerGrid: return PositionOf<P>::from(thread.groups_per_grid);
      case ParameterKind::kThreadsPerGrid: return PositionOf<P>::from(thread.threads_per_grid);
      case ParameterKind::kThreadIndexInThreadgroup: return make<P>(thread.index_in_group);
      case ParameterKind::kThreadIndexInSimdgroup: return make<P>(thread.lane);
      case ParameterKind::kSimdgroupIndexInThreadgroup: return make<P>(thread.simdgroup);
      case ParameterKind::kThreadsPerSimdgroup: return make<P>(kSimdWidth);
      case ParameterKind::kSimdgroupsPerThreadgroup: return make<P>(thread.simdgroups);
      case ParameterKind::kQuadgroupIndexInThreadgroup: return make<P>(thread.index_in_group / 4);
      case ParameterKind::kThreadIndexInQuadgroup: return make<P>(thread.index_in_group % 4);
      default: return P{};
    }
  }
};
template <typename P>
struct Argument<P*> {
  static P* fetch(const Call& call, const Parameter& parameter) {
    void* const* table = parameter.kind == ParameterKind::kBuffer ? call.buffers : call.threadgroup_memory;
    return static_cast<P*>(table[parameter.index]);
  }
};
template <typename P>
struct Argument<P&> {
  static P& fetch(const Call& call, const Parameter& parameter) { return *Argument<P*>::fetch(call, parameter); }
};

template <typename, unsigned... indices>
struct Indices {};
template <unsigned count>
using IndicesUpTo = __make_integer_seq<Indices, unsigned, count>;

template <typename... P, unsigned... indices>
inline void invoke_with(void (*kernel)(P...), const Call& call, const Parameter* parameters, Indices<unsigned, indices...>) {
  kernel(Argument<P>::fetch(call, parameters[indices])...);
}

/** Calls a kernel for one thread. */
template <typename... P>
inline void invoke(void (*kernel)(P...), const Call& call, const Parameter* parameters) {
  invoke_with(kernel, call, parameters, IndicesUpTo<sizeof...(P)>{});
}

template <typename T, unsigned id>
inline T& threadgroup_variable(const char* name, unsigned line) {
  return *static_cast<T*>(runtime->threadgroup_variable(id, sizeof(T), name, line));
}

}  // namespace msl

MSL_UNCHECKED_END
