#pragma once

#include "simd.h"

MSL_UNCHECKED_BEGIN

// <metal_atomic>: relaxed operations on memory of atomic types.

namespace msl {

/** The operations are already atomic; for volatile memory, clang does not report the address space. */
template <typename T>
inline T* plain(const volatile T* at) {
  return const_cast<T*>(at);
}

}  // namespace msl

namespace metal {

enum memory_order { memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };

template <typename T>
struct atomic {
  T value;
};
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_ulong = atomic<ulong>;
using atomic_float = atomic<float>;

inline void atomic_thread_fence(mem_flags flags, memory_order, thread_scope = thread_scope_device, MSL_PLACE) {
  msl::fence(unsigned(flags), file, line);
}

/** Returns the old value; `next` computes the new one. The threads of a group share one processor, so a plain loop is enough. */
template <typename T, typename Next>
inline T atomic_update(volatile atomic<T>* object, Next next, unsigned line) {
  msl::atomic_access(line);
  T old, wanted;
  __atomic_load(&object->value, &old, __ATOMIC_RELAXED);
  do wanted = next(old);
  while (!__atomic_compare_exchange(&object->value, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

template <typename T>
inline T atomic_load_explicit(const volatile atomic<T>* object, memory_order, MSL_LINE) {
  msl::atomic_access(line);
  T value;
  __atomic_load(msl::plain(&object->value), &value, __ATOMIC_RELAXED);
  return value;
}
template <typename T>
inline void atomic_store_explicit(volatile atomic<T>* object, typename Identity<T>::Type value, memory_order, MSL_LINE) {
  msl::atomic_access(line);
  __atomic_store(msl::plain(&object->value), &value, __ATOMIC_RELAXED);
}
template <typename T>
inline bool atomic_compare_exchange_weak_explicit(
    volatile atomic<T>* object, T* expected, typename Identity<T>::Type desired, memory_order, memory_order, MSL_LINE) {
  msl::atomic_access(line);
  return __atomic_compare_exchange(msl::plain(&object->value), expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#if defined(__NVPTX__)
#define MSL_ATOMIC(NAME, OPERATION, NEXT)                                                               \
  template <typename T>                                                                                 \
  inline T NAME(volatile atomic<T>* object, typename Identity<T>::Type value, memory_order, MSL_LINE) { \
    return OPERATION(msl::plain(&object->value), value, __ATOMIC_RELAXED);                              \
  }
#else
#define MSL_ATOMIC(NAME, OPERATION, NEXT)                                                               \
  template <typename T>                                                                                 \
  inline T NAME(volatile atomic<T>* object, typename Identity<T>::Type value, memory_order, MSL_LINE) { \
    return atomic_update(object, [=](T old) -> T { return NEXT; }, line);                               \
  }
#endif
MSL_ATOMIC(atomic_exchange_explicit, __atomic_exchange_n, (void(old), value))
MSL_ATOMIC(atomic_fetch_add_explicit, __atomic_fetch_add, T(old + value))
MSL_ATOMIC(atomic_fetch_sub_explicit, __atomic_fetch_sub, T(old - value))
MSL_ATOMIC(atomic_fetch_and_explicit, __atomic_fetch_and, T(old& value))
MSL_ATOMIC(atomic_fetch_or_explicit, __atomic_fetch_or, T(old | value))
MSL_ATOMIC(atomic_fetch_xor_explicit, __atomic_fetch_xor, T(old ^ value))
MSL_ATOMIC(atomic_fetch_min_explicit, __atomic_fetch_min, min(old, value))
MSL_ATOMIC(atomic_fetch_max_explicit, __atomic_fetch_max, max(old, value))

}  // namespace metal

MSL_UNCHECKED_END
