#include "page_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace markbase::cpu {

namespace {

constexpr int kMaxMappings = 1024;

/** Read by the signal handler without locks: `begin` is published last and cleared first. */
struct GuardedMapping {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> is_damaged{false};
};

GuardedMapping mappings[kMaxMappings];
std::mutex table_mutex;
struct sigaction previous_action;
long page_bytes = 0;

GuardedMapping* find_mapping(uintptr_t address) {
  for (GuardedMapping& mapping : mappings) {
    const uintptr_t begin = mapping.begin.load(std::memory_order_acquire);
    if (begin != 0 && address >= begin && address < mapping.end.load(std::memory_order_relaxed)) return &mapping;
  }
  return nullptr;
}

void on_bus_error(int signal_number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (GuardedMapping* mapping = find_mapping(address)) {
    void* page = reinterpret_cast<void*>(address & ~static_cast<uintptr_t>(page_bytes - 1));
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (mmap(page, static_cast<size_t>(page_bytes), PROT_READ, flags, -1, 0) != MAP_FAILED) {
      mapping->is_damaged.store(true, std::memory_order_release);
      return;
    }
  }
  if (previous_action.sa_flags & SA_SIGINFO) {
    previous_action.sa_sigaction(signal_number, info, context);
  } else if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
    // Returning repeats the access, which then ends the process as it would without this handler.
    signal(signal_number, SIG_DFL);
  } else {
    previous_action.sa_handler(signal_number);
  }
}

void install_handler() {
  static bool is_installed = false;
  if (is_installed) return;
  is_installed = true;
  page_bytes = sysconf(_SC_PAGESIZE);
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous_action);
}

}  // namespace

int guard_mapping(void* address, size_t size) {
  const std::lock_guard<std::mutex> lock(table_mutex);
  install_handler();
  for (int entry = 0; entry < kMaxMappings; ++entry) {
    GuardedMapping& mapping = mappings[entry];
    if (mapping.begin.load() != 0) continue;
    mapping.is_damaged.store(false);
    // The last page is only partly inside the file, but the kernel maps all of it.
    const uintptr_t begin = reinterpret_cast<uintptr_t>(address);
    const uintptr_t page = static_cast<uintptr_t>(page_bytes);
    mapping.end.store((begin + size + page - 1) / page * page);
    mapping.begin.store(begin, std::memory_order_release);
    return entry;
  }
  return -1;
}

void unguard_mapping(int entry) {
  if (entry < 0) return;
  const std::lock_guard<std::mutex> lock(table_mutex);
  mappings[entry].begin.store(0, std::memory_order_release);
}

bool mapping_is_damaged(int entry) { return entry >= 0 && mappings[entry].is_damaged.load(std::memory_order_acquire); }

}  // namespace markbase::cpu
