#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace msl {

/**
 * Counts the bytes that the loads of a threadgroup request from memory. Lanes of a simdgroup that execute one load instruction together
 * fetch a byte once, however many of them read it; every other load of the same byte counts again. Here the lanes of a simdgroup run one
 * after the other: the n-th execution of an instruction by one lane is paired with the n-th by the others, which is exact if all of them
 * take the same path.
 */
class LoadCounter {
 public:
  /** Adds the loads of the previous threadgroup, and begins one of `threads` threads. */
  void start_group(size_t threads);
  /** `total`: sum of the bytes loaded from this memory. */
  void add(unsigned thread, const void* instruction, uint64_t* total, const char* address, size_t size);
  /** Adds the loads of the current threadgroup to their totals. */
  void book();

 private:
  struct Load {
    uint64_t* total;
    const void* instruction;
    uint32_t turn;  ///< executions of the instruction by the previous thread
    uint32_t simdgroup;
    const char* begin;
    const char* end;
  };
  std::vector<Load> loads_;
  std::vector<std::unordered_map<const void*, uint32_t>> turns_;  ///< by thread
};

}  // namespace msl
