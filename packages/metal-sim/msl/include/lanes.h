#pragma once

#include "abi.h"
#include "math.h"

// Simdgroups on the CPU: lanes meet in the runtime, and the last one to arrive computes for all.

MSL_UNCHECKED_BEGIN

namespace msl {

/** Set when the library is loaded. */
static const Runtime* runtime;

template <typename T>
struct Slot {
  T value;
  T result;
  unsigned index;
};

template <typename T>
Slot<T>& slot_of(void* slot) {
  return *static_cast<Slot<T>*>(slot);
}

/** Folds by halves, so that the order of a sum is that of a butterfly; absent lanes contribute the neutral element. */
template <typename T, typename Folding>
void fold_lanes(void* const* slots) {
  T values[kSimdWidth];
  for (unsigned i = 0; i < kSimdWidth; ++i) values[i] = slots[i] ? slot_of<T>(slots[i]).value : Folding::neutral();
  for (unsigned half_width = kSimdWidth / 2; half_width > 0; half_width /= 2) {
    for (unsigned i = 0; i < half_width; ++i) values[i] = Folding::fold(values[i], values[i + half_width]);
  }
  for (unsigned i = 0; i < kSimdWidth; ++i) {
    if (slots[i]) slot_of<T>(slots[i]).result = values[0];
  }
}

/** In lane order; an exclusive scan starts with the neutral element. */
template <typename T, typename Folding, bool is_inclusive>
void scan_lanes(void* const* slots) {
  T total = Folding::neutral();
  for (unsigned i = 0; i < kSimdWidth; ++i) {
    if (!slots[i]) continue;
    Slot<T>& slot = slot_of<T>(slots[i]);
    const T next = Folding::fold(total, slot.value);
    slot.result = is_inclusive ? next : total;
    total = next;
  }
}

/** Every lane takes the value of the lane that it names, or its own if that lane is absent. */
template <typename T>
void exchange_lanes(void* const* slots) {
  for (unsigned i = 0; i < kSimdWidth; ++i) {
    if (!slots[i]) continue;
    Slot<T>& slot = slot_of<T>(slots[i]);
    void* source = slot.index < kSimdWidth ? slots[slot.index] : nullptr;
    slot.result = source ? slot_of<T>(source).value : slot.value;
  }
}

inline void meet_lanes(void* slot, Combine combine, const char* operation, unsigned line) { runtime->meet(slot, combine, operation, line); }
inline void meet_all(const char* operation, unsigned line) {
  char nothing = 0;
  meet_lanes(&nothing, [](void* const*) {}, operation, line);
}
inline unsigned lane_index() { return runtime->lane(); }

template <typename T>
inline T meet(T value, unsigned index, Combine combine, const char* operation, unsigned line) {
  Slot<T> slot{value, value, index};
  runtime->meet(&slot, combine, operation, line);
  return slot.result;
}

template <typename Folding, typename T>
inline T fold(T value, const char* operation, unsigned line) {
  return meet(value, 0, fold_lanes<T, Folding>, operation, line);
}
template <typename Folding, bool is_inclusive, typename T>
inline T scan(T value, const char* operation, unsigned line) {
  return meet(value, 0, scan_lanes<T, Folding, is_inclusive>, operation, line);
}
template <typename T>
inline T exchange(T value, unsigned lane, const char* operation, unsigned line) {
  return meet(value, lane, exchange_lanes<T>, operation, line);
}

/** The compiler must not move accesses across it: the call is opaque, and this also holds for inlined copies. */
inline void barrier(unsigned flags, const char* file, unsigned line) {
  __asm__ volatile("" ::: "memory");
  runtime->barrier(flags, file, line);
  __asm__ volatile("" ::: "memory");
}
inline void simdgroup_barrier(unsigned flags, const char* file, unsigned line) {
  __asm__ volatile("" ::: "memory");
  runtime->simdgroup_barrier(flags, file, line);
  __asm__ volatile("" ::: "memory");
}

inline void fence(unsigned flags, const char* file, unsigned line) { runtime->fence(flags, file, line); }
inline void atomic_access(unsigned line) { runtime->atomic_access(line); }

}  // namespace msl

MSL_UNCHECKED_END
