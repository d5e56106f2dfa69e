#pragma once

// Simdgroups on NVIDIA GPUs, as warps of 32 lanes. Every operation involves all lanes of a warp, so threadgroups consist of whole warps,
// and a kernel returns early only with all lanes of a warp.

#include "../include/abi.h"

namespace msl {

inline constexpr unsigned kAllLanes = 0xffffffffu;

inline void barrier(unsigned, const char*, unsigned) { __syncthreads(); }
inline void simdgroup_barrier(unsigned, const char*, unsigned) { __nvvm_bar_warp_sync(kAllLanes); }
inline void fence(unsigned, const char*, unsigned) { __nvvm_membar_gl(); }
inline void atomic_access(unsigned) {}

/** Threadgroups have one dimension. */
inline unsigned lane_index() { return __nvvm_read_ptx_sreg_tid_x() % 32; }

/** The value of another lane, in words of 32 bits. */
template <typename T>
inline T exchange(T value, unsigned lane, const char*, unsigned) {
  int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = __nvvm_shfl_sync_idx_i32(int(kAllLanes), word, int(lane), 31);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

/**
 * By halves, as on the CPU: lane 0 folds values in the same order, and all lanes get the same bits, because each step folds the same two
 * values in either order.
 */
template <typename Folding, typename T>
inline T fold(T value, const char* operation, unsigned line) {
#pragma unroll
  for (unsigned reach = 16; reach > 0; reach /= 2) {
    value = Folding::fold(value, exchange(value, lane_index() ^ reach, operation, line));
  }
  return value;
}

/** In lane order, as on the CPU. */
template <typename Folding, bool is_inclusive, typename T>
inline T scan(T value, const char* operation, unsigned line) {
  T total = Folding::neutral(), result = total;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const T next = Folding::fold(total, exchange(value, lane, operation, line));
    if (lane == lane_index()) result = is_inclusive ? next : total;
    total = next;
  }
  return result;
}

}  // namespace msl
