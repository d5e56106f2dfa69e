#include "step_memory.h"

#include <algorithm>

namespace markbase::cuda {

using gpu::StepLayout;

namespace {

/** Number of graphs kept: for a chunk of a prompt, a shorter last one, and single tokens, each with and without outputs. */
constexpr size_t kMostGraphs = 8;

}  // namespace

Status StepMemory::fill(MemoryPool& pool, const ProgramDescription& program, const StepCall& step) {
  const std::string name = "step of " + program.label;
  layout_ = StepLayout(program, step);
  if (!device_ || device_->size_bytes() < layout_.size_bytes()) {
    // Graphs contain addresses of the old memory.
    graphs_.clear();
    device_ = nullptr;
    if (Status status = pool.allocate(layout_.size_bytes(), name, &device_); !status.ok()) return status;
  }
  if (!done_.handle()) {
    if (Status status = done_.create(CU_EVENT_DISABLE_TIMING); !status.ok()) return status;
  }
  if (Status status = host_.reserve(layout_.size_bytes(), name); !status.ok()) return status;
  layout_.fill(program, step, host_.data());
  return Status::good();
}

CUresult StepMemory::send(CUstream stream) const {
  return context_->driver().copy_to_device(device_->address(), host_.data(), layout_.filled_bytes(), stream);
}

CUresult StepMemory::receive(CUstream stream) const {
  const size_t begin = layout_.first_bad();
  const CUresult result =
      context_->driver().copy_to_host(host_.data() + begin, device_->address() + begin, layout_.size_bytes() - begin, stream);
  return result == CUDA_SUCCESS ? context_->driver().event_record(done_.handle(), stream) : result;
}

CUresult StepMemory::wait() const { return context_->driver().event_synchronize(done_.handle()); }

const StepGraph* StepMemory::find_graph(const GraphKey& key) {
  // A graph on replaced scratch memory would keep it alive.
  graphs_.remove_if([&](const auto& graph) { return graph->key().scratch != key.scratch; });
  const auto known = std::find_if(graphs_.begin(), graphs_.end(), [&](const auto& graph) { return graph->key() == key; });
  if (known == graphs_.end()) return nullptr;
  graphs_.splice(graphs_.begin(), graphs_, known);
  return graphs_.front().get();
}

const StepGraph* StepMemory::keep_graph(std::unique_ptr<StepGraph> graph) {
  graphs_.push_front(std::move(graph));
  if (graphs_.size() > kMostGraphs) graphs_.pop_back();
  return graphs_.front().get();
}

Status StepMemory::marks(size_t count, std::vector<CUevent>* out) {
  while (marks_.size() < count) {
    marks_.emplace_back(context_);
    if (Status status = marks_.back().create(CU_EVENT_DEFAULT); !status.ok()) {
      marks_.pop_back();
      return status;
    }
  }
  out->clear();
  for (const Event& mark : marks_) out->push_back(mark.handle());
  return Status::good();
}

}  // namespace markbase::cuda
