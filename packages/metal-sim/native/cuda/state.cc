#include "state.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cuda_sim {
namespace {

thread_local std::vector<void*> contexts;

}  // namespace

State& state() {
  static auto* shared = new State;
  return *shared;
}

void State::reset() {
  failures.clear();
  failure = kSuccess;
}

void State::reset_counts() {
  for (auto* count :
       {&launches, &graph_launches, &graphs, &copies_to_device, &copies_to_host, &copied_bytes, &allocations, &modules, &misuses}) {
    *count = 0;
  }
}

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? std::strtoull(value, nullptr, 10) : otherwise;
}

Result misuse(Result result, const std::string& message) {
  state().misuses += 1;
  std::fprintf(stderr, "cuda-sim: %s\n", message.c_str());
  return result;
}

Result check_context() {
  if (!state().is_initialized) return misuse(kNotInitialized, "a call before cuInit");
  if (contexts.empty() || contexts.back() == nullptr) return misuse(kInvalidContext, "a call without a current context");
  return state().failure;
}

void push_context(void* context) { contexts.push_back(context); }

Result pop_context(void** context) {
  if (contexts.empty()) return misuse(kInvalidContext, "cuCtxPopCurrent without a context");
  *context = contexts.back();
  contexts.pop_back();
  return kSuccess;
}

}  // namespace cuda_sim

extern "C" {

void cuda_sim_fail(int kind, uint32_t skip, uint32_t count) { cuda_sim::state().failures.order(kind, skip, count); }

void cuda_sim_reset(void) { cuda_sim::state().reset(); }

void cuda_sim_reset_counts(void) { cuda_sim::state().reset_counts(); }

void cuda_sim_counts(struct CudaSimCounts* counts) {
  const cuda_sim::State& now = cuda_sim::state();
  *counts = {now.launches,    now.graph_launches, now.graphs,  now.copies_to_device, now.copies_to_host, now.copied_bytes,
             now.allocations, now.modules,        now.misuses, now.live_objects,     now.allocated_bytes};
}
}
