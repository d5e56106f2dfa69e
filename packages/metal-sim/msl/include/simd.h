#pragma once

#include "math.h"
#if defined(__NVPTX__)
#include "../ptx/lanes.h"
#else
#include "lanes.h"
#endif

// Barriers and simdgroup functions, based on the processor-specific part in lanes.h.

#define MSL_LINE unsigned line = __builtin_LINE()
#define MSL_PLACE const char *file = __builtin_FILE(), MSL_LINE

MSL_UNCHECKED_BEGIN

namespace metal {

enum class mem_flags : unsigned {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(unsigned(a) | unsigned(b)); }

inline void threadgroup_barrier(mem_flags flags, MSL_PLACE) { msl::barrier(unsigned(flags), file, line); }
inline void simdgroup_barrier(mem_flags flags, MSL_PLACE) { msl::simdgroup_barrier(unsigned(flags), file, line); }

// The operation of a fold or scan is a type, because the processor-specific part takes no other arguments.
#define MSL_FOLDING(NAME, NEUTRAL, FOLD)             \
  template <typename T>                              \
  struct NAME##_folding {                            \
    static constexpr T neutral() { return NEUTRAL; } \
    static T fold(T a, T b) { return FOLD; }         \
  };
#define MSL_SIMD_FOLD(NAME, NEUTRAL, FOLD)                   \
  MSL_FOLDING(NAME, NEUTRAL, FOLD)                           \
  template <typename T>                                      \
  inline T NAME(T value, MSL_LINE) {                         \
    return msl::fold<NAME##_folding<T>>(value, #NAME, line); \
  }

template <typename T>
constexpr typename VectorTraits<T>::Element lowest_of() {
  using Element = typename VectorTraits<T>::Element;
  if constexpr (Element(0.5f) != Element(0)) return Element(-__builtin_inff());
  else return numeric_limits<Element>::lowest();
}
template <typename T>
constexpr typename VectorTraits<T>::Element highest_of() {
  using Element = typename VectorTraits<T>::Element;
  if constexpr (Element(0.5f) != Element(0)) return Element(__builtin_inff());
  else return numeric_limits<Element>::max();
}

MSL_SIMD_FOLD(simd_sum, T(0), T(a + b))
MSL_SIMD_FOLD(simd_product, T(1), T(a* b))
MSL_SIMD_FOLD(simd_max, T(lowest_of<T>()), max(a, b))
MSL_SIMD_FOLD(simd_min, T(highest_of<T>()), min(a, b))
MSL_SIMD_FOLD(simd_and, T(~T(0)), T(a& b))
MSL_SIMD_FOLD(simd_or, T(0), T(a | b))
MSL_SIMD_FOLD(simd_xor, T(0), T(a ^ b))
inline bool simd_all(bool value, MSL_LINE) { return simd_and(uint(value ? 1 : 0), line) != 0; }
inline bool simd_any(bool value, MSL_LINE) { return simd_or(uint(value ? 1 : 0), line) != 0; }

#define MSL_SIMD_SCAN(NAME, NEUTRAL, INCLUSIVE, FOLD)                   \
  MSL_FOLDING(NAME, NEUTRAL, FOLD)                                      \
  template <typename T>                                                 \
  inline T NAME(T value, MSL_LINE) {                                    \
    return msl::scan<NAME##_folding<T>, INCLUSIVE>(value, #NAME, line); \
  }
MSL_SIMD_SCAN(simd_prefix_inclusive_sum, T(0), true, T(a + b))
MSL_SIMD_SCAN(simd_prefix_exclusive_sum, T(0), false, T(a + b))
MSL_SIMD_SCAN(simd_prefix_inclusive_product, T(1), true, T(a* b))
MSL_SIMD_SCAN(simd_prefix_exclusive_product, T(1), false, T(a* b))

template <typename T>
inline T simd_shuffle(T value, ushort lane, MSL_LINE) {
  return msl::exchange(value, lane, "simd_shuffle", line);
}
template <typename T>
inline T simd_broadcast(T value, ushort lane, MSL_LINE) {
  return msl::exchange(value, lane, "simd_broadcast", line);
}
template <typename T>
inline T simd_broadcast_first(T value, MSL_LINE) {
  return msl::exchange(value, 0, "simd_broadcast_first", line);
}
template <typename T>
inline T simd_shuffle_xor(T value, ushort mask, MSL_LINE) {
  return msl::exchange(value, msl::lane_index() ^ mask, "simd_shuffle_xor", line);
}
template <typename T>
inline T simd_shuffle_up(T value, ushort delta, MSL_LINE) {
  const unsigned lane = msl::lane_index();
  return msl::exchange(value, lane >= delta ? lane - delta : lane, "simd_shuffle_up", line);
}
template <typename T>
inline T simd_shuffle_down(T value, ushort delta, MSL_LINE) {
  const unsigned lane = msl::lane_index(), source = lane + delta;
  return msl::exchange(value, source < 32 ? source : lane, "simd_shuffle_down", line);
}
template <typename T>
inline T simd_shuffle_rotate_down(T value, ushort delta, MSL_LINE) {
  return msl::exchange(value, (msl::lane_index() + delta) % 32, "simd_shuffle_rotate_down", line);
}
template <typename T>
inline T simd_shuffle_rotate_up(T value, ushort delta, MSL_LINE) {
  return msl::exchange(value, (msl::lane_index() + 32 - delta % 32) % 32, "simd_shuffle_rotate_up", line);
}

/** One bit per lane. */
struct simd_vote {
  using vote_t = ulong;
  vote_t bits = 0;
  simd_vote() = default;
  explicit constexpr simd_vote(vote_t value) : bits(value) {}
  explicit constexpr operator vote_t() const { return bits; }
  constexpr bool any() const { return bits != 0; }
};
inline simd_vote simd_ballot(bool value, MSL_LINE) {
  const unsigned lane = msl::lane_index();
  return simd_vote(simd_or(value ? 1ul << lane : 0ul, line));
}
inline bool simd_is_first() { return msl::lane_index() == 0; }

template <typename T>
inline T quad_shuffle(T value, ushort lane, MSL_LINE) {
  return msl::exchange(value, (msl::lane_index() & ~3u) + (lane & 3u), "quad_shuffle", line);
}
template <typename T>
inline T quad_broadcast(T value, ushort lane, MSL_LINE) {
  return quad_shuffle(value, lane, line);
}
template <typename T>
inline T quad_shuffle_xor(T value, ushort mask, MSL_LINE) {
  return msl::exchange(value, msl::lane_index() ^ (mask & 3u), "quad_shuffle_xor", line);
}
template <typename T>
inline T quad_sum(T value, MSL_LINE) {
  const T pair = T(value + quad_shuffle_xor(value, 1, line));
  return T(pair + quad_shuffle_xor(pair, 2, line));
}
template <typename T>
inline T quad_max(T value, MSL_LINE) {
  const T pair = max(value, quad_shuffle_xor(value, 1, line));
  return max(pair, quad_shuffle_xor(pair, 2, line));
}

}  // namespace metal

MSL_UNCHECKED_END
