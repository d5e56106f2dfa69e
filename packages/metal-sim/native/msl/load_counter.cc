#include "load_counter.h"

#include <algorithm>
#include <tuple>

#include "abi.h"

namespace msl {

void LoadCounter::start_group(size_t threads) {
  book();
  turns_.assign(threads, {});
}

void LoadCounter::add(unsigned thread, const void* instruction, uint64_t* total, const char* address, size_t size) {
  const uint32_t turn = turns_[thread][instruction]++;
  loads_.push_back({total, instruction, turn, thread / kSimdWidth, address, address + size});
}

void LoadCounter::book() {
  const auto together = [](const Load& load) { return std::tie(load.total, load.simdgroup, load.instruction, load.turn); };
  std::sort(loads_.begin(), loads_.end(),
            [&](const Load& a, const Load& b) { return together(a) != together(b) ? together(a) < together(b) : a.begin < b.begin; });
  const Load* last = nullptr;
  const char* reached = nullptr;
  for (const Load& load : loads_) {
    if (!last || together(*last) != together(load)) reached = load.begin;
    if (load.end > reached) *load.total += static_cast<uint64_t>(load.end - std::max(load.begin, reached));
    reached = std::max(reached, load.end);
    last = &load;
  }
  loads_.clear();
}

}  // namespace msl
