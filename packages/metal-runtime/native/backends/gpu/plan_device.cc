#include "plan_device.h"

#include <utility>

#include "region_buffer.h"
#include "step_planner.h"

namespace markbase::gpu {

namespace {

constexpr const char* kPlansOnly = "this device plans programs but does not run them: open a device of another kind";

/** A region without memory. */
class PlanBuffer : public RegionBuffer {
 public:
  PlanBuffer(size_t offset, size_t size) : RegionBuffer(offset, size) {}
};

/** A program that can be inspected but not run. */
class PlanProgram : public Program {
 public:
  PlanProgram(ProgramDescription description, const GpuTraits& traits) : description_(std::move(description)), traits_(traits) {}

  void start(const StepCall&, StepEnd end) override { end(Status::error(StatusCode::kDevice, description_.label, kPlansOnly)); }

  std::vector<PlannedCommand> plan() const override {
    std::vector<PlannedCommand> planned;
    for (const Command& command : description_.commands) planned.push_back({command.kernel.name(), 1});
    return planned;
  }

  Status plan_step(const StepSize& size, std::vector<PlannedDispatch>* out) const override {
    return list_dispatches(description_, size, traits_, out);
  }

  std::vector<double> seconds() const override { return std::vector<double>(description_.commands.size(), 0.0); }

 private:
  const ProgramDescription description_;
  const GpuTraits traits_;
};

class PlanDevice : public Device {
 public:
  PlanDevice(std::string kind, const GpuTraits& traits) : kind_(std::move(kind)), traits_(traits) {}
  DeviceInfo info() const override { return {kind_, "plans only", kind_, 1, 0}; }
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
  Status read(const Buffer&, const BufferPieces&, std::byte*) override { return Status::error(StatusCode::kDevice, "read", kPlansOnly); }
  Status write(const Buffer&, const BufferPieces&, const std::byte*) override {
    return Status::error(StatusCode::kDevice, "write", kPlansOnly);
  }
  Status create_program(ProgramDescription description, std::shared_ptr<Program>* out) override {
    std::vector<PlannedDispatch> dispatches;
    const StepSize widest = {description.max_rows, description.max_outputs, 1};
    if (Status status = list_dispatches(description, widest, traits_, &dispatches); !status.ok()) return status;
    *out = std::make_shared<PlanProgram>(std::move(description), traits_);
    return Status::good();
  }
  void shut_down() override {}

 private:
  const std::string kind_;
  const GpuTraits traits_;
};

/** An H200; the traits of NVIDIA GPUs affect grids and the choice of tiles. */
constexpr GpuTraits kNvidia = {.multiprocessors = 132, .shared_bytes = 227 * 1024, .has_warpgroups = true};

}  // namespace

std::shared_ptr<Device> open_plan_device(const std::string& kind) {
  if (kind == "metal-plan") return std::make_shared<PlanDevice>("metal", GpuTraits{});
  if (kind == "cuda-plan") return std::make_shared<PlanDevice>("cuda", kNvidia);
  return nullptr;
}

}  // namespace markbase::gpu
