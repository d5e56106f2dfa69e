#include "state.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../objc/runtime.h"

namespace metal_sim {
namespace {

constexpr size_t kTraceLines = 100'000;

size_t copy_text(const std::string& text, char* out, size_t size) {
  if (size > 0) {
    const size_t count = std::min(text.size(), size - 1);
    std::memcpy(out, text.data(), count);
    out[count] = '\0';
  }
  return text.size();
}

}  // namespace

State& state() {
  static auto* shared = new State;
  return *shared;
}

void State::reset() {
  failures.clear();
  is_lost = false;
}

void State::reset_counts() {
  for (auto* count : {&command_buffers, &encoders, &dispatches, &barriers, &waits, &threadgroups, &validation_errors, &libraries,
                      &pipelines, &read_bytes}) {
    *count = 0;
  }
  std::lock_guard lock(mutex_);
  trace_.clear();
  last_error_.clear();
}

void State::add_trace(std::string line) {
  std::lock_guard lock(mutex_);
  if (trace_.size() < kTraceLines) trace_.push_back(std::move(line));
}

std::string State::trace() {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const std::string& line : trace_) text += line + "\n";
  return text;
}

void State::set_last_error(const std::string& message) {
  std::lock_guard lock(mutex_);
  last_error_ = message;
}

std::string State::last_error() {
  std::lock_guard lock(mutex_);
  return last_error_;
}

void report_validation(const std::string& message) {
  state().validation_errors += 1;
  state().set_last_error(message);
  std::fprintf(stderr, "metal-sim: API validation: %s\n", message.c_str());
  const char* mode = std::getenv("METAL_SIM_VALIDATION");
  if (mode && std::strcmp(mode, "abort") == 0) std::abort();
}

}  // namespace metal_sim

using metal_sim::state;

void metal_sim_fail(int kind, uint32_t skip, uint32_t count) { state().failures.order(kind, skip, count); }
void metal_sim_reset() { state().reset(); }
void metal_sim_reset_counts() { state().reset_counts(); }

void metal_sim_counts(MetalSimCounts* counts) {
  metal_sim::State& now = state();
  *counts = {now.command_buffers,
             now.encoders,
             now.dispatches,
             now.barriers,
             now.waits,
             now.threadgroups,
             now.validation_errors,
             now.libraries,
             now.pipelines,
             now.read_bytes,
             static_cast<uint64_t>(objc::live_objects().load()),
             now.allocated_bytes};
}

size_t metal_sim_live_objects(char* text, size_t size) {
  std::string lines;
  for (const std::string& line : objc::describe_live_objects()) lines += line + "\n";
  return metal_sim::copy_text(lines, text, size);
}

size_t metal_sim_last_validation_error(char* text, size_t size) { return metal_sim::copy_text(state().last_error(), text, size); }

size_t metal_sim_trace(char* text, size_t size) { return metal_sim::copy_text(state().trace(), text, size); }
