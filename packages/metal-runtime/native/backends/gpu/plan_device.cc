#include "plan_device.h"

#include <utility>

#include "region_buffer.h"
#include "step_planner.h"

namespace markbase::gpu {

namespace {

/** A region of nothing. */
class PlanBuffer : public RegionBuffer {
 public:
  PlanBuffer(size_t offset, size_t size) : RegionBuffer(offset, size) {}
};

/** A program that can be looked at. */
class PlanProgram : public Program {
 public:
  explicit PlanProgram(ProgramDescription description) : description_(std::move(description)) {}

  void start(const StepCall&, StepEnd end) override {
    const char* reason = "this device plans programs and runs none: open a device of another kind";
    end(Status::error(StatusCode::kDevice, description_.label, reason));
  }

  std::vector<PlannedCommand> plan() const override {
    std::vector<PlannedCommand> planned;
    for (const Command& command : description_.commands) planned.push_back({command.kernel.name(), 1});
    return planned;
  }

  Status plan_step(const StepSize& size, std::vector<PlannedDispatch>* out) const override {
    return list_dispatches(description_, size, {}, out);
  }

  std::vector<double> seconds() const override { return std::vector<double>(description_.commands.size(), 0.0); }

 private:
  const ProgramDescription description_;
};

class PlanDevice : public Device {
 public:
  DeviceInfo info() const override { return {"metal", "plans only", "metal", 1, 0}; }
  Status map(const std::string&, uint64_t offset, uint64_t size, BufferPtr* out) override {
    *out = std::make_shared<PlanBuffer>(offset, size);
    return Status::good();
  }
  Status upload(const void*, size_t size, const std::string&, BufferPtr* out) override {
    *out = std::make_shared<PlanBuffer>(0, size);
    return Status::good();
  }
  Status allocate(size_t size, const std::string&, BufferPtr* out) override {
    *out = std::make_shared<PlanBuffer>(0, size);
    return Status::good();
  }
  Status create_program(ProgramDescription description, std::shared_ptr<Program>* out) override {
    std::vector<PlannedDispatch> dispatches;
    const StepSize widest = {description.max_rows, description.max_outputs, 1};
    if (Status status = list_dispatches(description, widest, {}, &dispatches); !status.ok()) return status;
    *out = std::make_shared<PlanProgram>(std::move(description));
    return Status::good();
  }
  void shut_down() override {}
};

}  // namespace

Status open_plan_device(const DeviceOptions&, std::shared_ptr<Device>* out) {
  *out = std::make_shared<PlanDevice>();
  return Status::good();
}

}  // namespace markbase::gpu
