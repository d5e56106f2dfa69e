#pragma once

// The program of one command that the tests of the Metal backend run, and its steps.
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend_case.h"

using namespace markbase;
using test::failures;
using test::kBytes;
using test::kWidth;

constexpr uint32_t kMaxRows = 20;
constexpr size_t kOutOffset = 1024;

inline Status open(std::shared_ptr<Device>* out) { return test::open_kind("metal-sim", out); }

/** How a program differs from y = 2 x. */
struct Wanted {
  BufferPtr addend = nullptr;  ///< y = 2 (x + addend), of one row
  bool measures_time = false;
  bool checks_finite = false;
  uint32_t width = kWidth;  ///< of the kernel; its memory ends before a large one
};

inline Status make_program(Device& device, std::shared_ptr<Program>* out, const Wanted& wanted = {}) {
  OpCall call{"elementwise",
              "double",
              {{"op", wanted.addend ? 0 : 1},
               {"rowSet", 0},
               {"width", wanted.width},
               {"aStride", kWidth},
               {"bStride", kWidth},
               {"yStride", kWidth},
               {"scale", 2},
               {"high", 0}},
              std::vector<Binding>(3)};
  call.operands[0] = {Binding::Kind::kArena, nullptr, 0, kMaxRows * kBytes, false};
  if (wanted.addend) call.operands[1] = {Binding::Kind::kBuffer, wanted.addend, 0, kBytes, false};
  call.operands[2] = {Binding::Kind::kArena, nullptr, kOutOffset, kMaxRows * kBytes, true};
  ProgramDescription description;
  description.label = "test";
  description.max_rows = kMaxRows;
  description.arena_bytes = 2 * kOutOffset;
  description.measures_time = wanted.measures_time;
  description.check_finite = wanted.checks_finite;
  description.inputs = {{"x", 0, kAllRows, kMaxRows, kWidth, kWidth}};
  description.outputs = {{"y", kOutOffset, kAllRows, kMaxRows, kWidth, kWidth}};
  Command command;
  if (Status status = lower(call, &command); !status.ok()) return status;
  description.commands = {command};
  return device.create_program(std::move(description), out);
}

/** A step with everything that it reads and writes; x is 3. */
struct Step {
  explicit Step(uint32_t rows = 1, bool has_ports = true) : zeros(rows, 0), x(rows * kWidth, 3.0f), y(rows * kWidth, 0.0f) {
    call.view.rows[kAllRows] = rows;
    for (const RowSet set : {kAllRows, kOutputRows}) {
      call.view.position[set] = call.view.slot[set] = call.view.visible_end[set] = zeros.data();
    }
    call.view.table = call.view.token = call.view.layer_token = call.view.soft_index = call.view.output_row = zeros.data();
    if (has_ports) call.inputs = {{0, x.data(), x.size()}};
    if (has_ports) call.outputs = {{0, y.data(), y.size()}};
  }
  /** `before_end` runs on the thread that ends the step, and blocks the end of other steps. */
  void start(Program& program, std::function<void()> before_end = [] {}) {
    program.start(call, [this, before_end = std::move(before_end)](Status status) {
      before_end();
      end.set_value(std::move(status));
    });
  }
  bool is_all(float value) const { return y == std::vector<float>(y.size(), value); }

  std::vector<int32_t> zeros;
  std::vector<float> x, y;
  StepCall call;
  std::promise<Status> end;
};

inline Status run(Program& program, Step step = Step()) {
  step.start(program);
  return step.end.get_future().get();
}

/** Runs a step and expects `value` in every output. */
inline bool gives(Program& program, float value, uint32_t rows = 1) {
  Step step(rows);
  step.start(program);
  return step.end.get_future().get().ok() && step.is_all(value);
}

inline bool is_right(Program& program) { return gives(program, 6.0f); }

/** Blocks the thread that ends steps, in the end of one of them. */
class Gate {
 public:
  std::function<void()> hold() {
    return [this] {
      reached_.set_value();
      opened_.get_future().wait();
    };
  }
  void wait_until_held() { reached_.get_future().wait(); }
  void open() { opened_.set_value(); }

 private:
  std::promise<void> reached_, opened_;
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/** Opens a device and creates a program. */
struct Opened {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;

  explicit Opened(const Wanted& wanted = {}) {
    EXPECT(open(&device).ok());
    EXPECT(make_program(*device, &program, wanted).ok());
  }
};
