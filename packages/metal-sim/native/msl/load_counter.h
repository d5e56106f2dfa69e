#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace msl {

/**
 * Counts what the loads of a threadgroup ask memory for. Lanes of a simdgroup that execute one load instruction together
 * fetch a byte once, however many of them want it; every other load of the same byte counts again. The lanes of a simdgroup
 * run one after the other here: the n-th execution of an instruction by one lane belongs to the n-th by the others, which is
 * exact where all of them take the same way.
 */
class LoadCounter {
 public:
  /** Books the threadgroup before, and begins one of `threads` threads. */
  void start_group(size_t threads);
  /** `total`: where the bytes are added up, by the memory that is loaded from. */
  void add(unsigned thread, const void* instruction, uint64_t* total, const char* address, size_t size);
  /** Adds the loads of the current threadgroup to their totals. */
  void book();

 private:
  struct Load {
    uint64_t* total;
    const void* instruction;
    uint32_t turn;  ///< executions of the instruction by the thread before this one
    uint32_t simdgroup;
    const char* begin;
    const char* end;
  };
  std::vector<Load> loads_;
  std::vector<std::unordered_map<const void*, uint32_t>> turns_;  ///< by thread
};

}  // namespace msl
