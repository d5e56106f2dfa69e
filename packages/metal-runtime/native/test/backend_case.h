#pragma once

#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device.h"
#include "op_call.h"

/** Shared by the tests of GPU backends: a small program, a step of it, and reports of failures. */
namespace markbase::test {

inline int failures = 0;

inline void expect(bool condition, const char* what, int line) {
  if (condition) return;
  ++failures;
  std::printf("  line %d: %s\n", line, what);
}
#define EXPECT(condition) markbase::test::expect((condition), #condition, __LINE__)

inline constexpr uint32_t kWidth = 8;
inline constexpr size_t kBytes = kWidth * sizeof(float);

inline Status open_kind(const char* kind, std::shared_ptr<Device>* out) {
  std::string note;
  return open_device({kind, 0, ""}, out, &note);
}

/** A program with one command and one row, whose input x is at 0 and whose output y is at 64. */
inline Status make_program_of(Device& device, const OpCall& call, bool measures_time, std::shared_ptr<Program>* out) {
  ProgramDescription description;
  description.label = "test";
  description.max_rows = 1;
  description.arena_bytes = 128;
  description.measures_time = measures_time;
  description.inputs = {{"x", 0, kAllRows, 1, kWidth, kWidth}};
  description.outputs = {{"y", 64, kAllRows, 1, kWidth, kWidth}};
  Command command;
  if (Status status = lower(call, &command); !status.ok()) return status;
  description.commands = {command};
  return device.create_program(std::move(description), out);
}

/** y = 2 x, one row. */
inline Status make_program(Device& device, std::shared_ptr<Program>* out, bool measures_time = false) {
  OpCall call{"elementwise",
              "double",
              {{"op", 1},
               {"rowSet", 0},
               {"width", kWidth},
               {"aStride", kWidth},
               {"bStride", kWidth},
               {"yStride", kWidth},
               {"scale", 2},
               {"high", 0}},
              std::vector<Binding>(3)};
  call.operands[0] = {Binding::Kind::kArena, nullptr, 0, kBytes, false};
  call.operands[2] = {Binding::Kind::kArena, nullptr, 64, kBytes, true};
  return make_program_of(device, call, measures_time, out);
}

struct Result {
  Status status;
  std::vector<float> y;
};

/** A step with its arrays, which live until it has ended. */
struct TestStep {
  explicit TestStep(const int32_t* cancel_flag = nullptr, bool has_ports = true) {
    call.view.rows[kAllRows] = 1;
    for (const RowSet set : {kAllRows, kOutputRows}) {
      call.view.position[set] = &zero;
      call.view.slot[set] = &zero;
      call.view.visible_end[set] = &zero;
    }
    call.view.table = call.view.token = call.view.layer_token = call.view.soft_index = call.view.output_row = &zero;
    if (has_ports) call.inputs = {{0, x.data(), x.size()}};
    if (has_ports) call.outputs = {{0, y.data(), y.size()}};
    call.cancel_flag = cancel_flag;
  }
  TestStep(const TestStep&) = delete;

  void start(Program& program) {
    program.start(call, [this](Status status) { end.set_value(std::move(status)); });
  }
  Result wait() { return {end.get_future().get(), y}; }

  int32_t zero = 0;
  std::vector<float> x = std::vector<float>(kWidth, 3.0f), y = std::vector<float>(kWidth, 0.0f);
  StepCall call;
  std::promise<Status> end;
};

inline Result run(Program& program, const int32_t* cancel_flag = nullptr, bool has_ports = true) {
  TestStep step(cancel_flag, has_ports);
  step.start(program);
  return step.wait();
}

inline bool is_right(const Result& result) { return result.status.ok() && result.y == std::vector<float>(kWidth, 6.0f); }

/** Runs a test between two calls of `reset`, and prints a line with the result. */
template <typename Test>
void test(const char* name, void (*reset)(), Test&& body) {
  const int before = failures;
  reset();
  body();
  reset();
  std::printf("%s %s\n", failures == before ? "ok" : "FAILED", name);
}

}  // namespace markbase::test
