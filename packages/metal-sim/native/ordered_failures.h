#pragma once

#include <cstdint>
#include <mutex>

/** Failures that a test requests from a stand-in, by kind: `skip` events still succeed, then `count` fail. */
template <int kinds>
class OrderedFailures {
 public:
  /** True if this event of the kind is to fail. */
  bool take(int kind) {
    const std::lock_guard lock(mutex_);
    Order& order = orders_[kind];
    if (order.count == 0) return false;
    if (order.skip > 0) {
      order.skip -= 1;
      return false;
    }
    order.count -= 1;
    return true;
  }

  void order(int kind, uint32_t skip, uint32_t count) {
    if (kind < 0 || kind >= kinds) return;
    const std::lock_guard lock(mutex_);
    orders_[kind] = {skip, count};
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    for (Order& order : orders_) order = {};
  }

 private:
  struct Order {
    uint32_t skip = 0;
    uint32_t count = 0;
  };
  std::mutex mutex_;
  Order orders_[kinds];
};
