#include "step_graph.h"

#include <algorithm>

#include "cuda_buffer.h"
#include "data_flow.h"

namespace markbase::cuda {

using gpu::Argument;
using gpu::Dispatch;

namespace {

/** From this major compute capability on, kernels are compiled to wait for the previous ones. */
constexpr int kFirstProgrammatic = 9;

/** Maximum number of rows of a step in which launches begin before the previous ones end. */
constexpr uint32_t kMostChainedRows = 16;

/** Arguments that are values: the parameters of the family, and Launch. */
constexpr uint32_t kParamsArgument = 0;
constexpr uint32_t kLaunchArgument = 1;

CUdeviceptr address_of(const Argument& argument, const LaunchContext& context) {
  switch (argument.kind) {
    case Argument::Kind::kBuffer: return static_cast<const CudaBuffer*>(argument.buffer)->address() + argument.offset;
    case Argument::Kind::kArena: return context.arena + argument.offset;
    case Argument::Kind::kScratch: return context.scratch + argument.offset;
    case Argument::Kind::kStep: return context.step + context.layout->offset_of(argument.array);
    case Argument::Kind::kStaged: return context.step + argument.offset;
    case Argument::Kind::kResult: return context.step + context.layout->results() + argument.offset;
    case Argument::Kind::kNothing: break;
  }
  // The kernel does not read it.
  return context.step;
}

}  // namespace

Status LaunchArguments::bind(const Dispatch& dispatch, const Kernel& kernel, const LaunchContext& context, LaunchArguments* out) {
  const std::vector<KernelParameter>& parameters = *kernel.parameters;
  out->addresses_.assign(parameters.size(), 0);
  out->pointers_.assign(parameters.size(), nullptr);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const KernelParameter& parameter = parameters[i];
    const std::string name = "argument " + std::to_string(parameter.index);
    if (parameter.is_value) {
      const bool is_launch = parameter.index == kLaunchArgument;
      const size_t given = is_launch ? sizeof(Launch) : parameter.index == kParamsArgument ? dispatch.params.size() : 0;
      if (given < parameter.bytes) {
        // Reached only with the text of another build.
        const std::string reason = name + " has " + std::to_string(given) + " bytes, the kernel takes " + std::to_string(parameter.bytes);
        return Status::error(StatusCode::kDevice, kernel.name, reason);
      }
      // The driver only reads what the pointer names.
      out->pointers_[i] = is_launch ? const_cast<Launch*>(&dispatch.launch)
                                    : static_cast<void*>(const_cast<std::byte*>(dispatch.params.data()));
      continue;
    }
    const auto bound = std::find_if(dispatch.arguments.begin(), dispatch.arguments.end(),
                                    [&](const Argument& argument) { return argument.index == parameter.index; });
    if (bound == dispatch.arguments.end()) return Status::error(StatusCode::kDevice, kernel.name, name + " is not bound");
    out->addresses_[i] = address_of(*bound, context);
    out->pointers_[i] = &out->addresses_[i];
  }
  return Status::good();
}

uint32_t shared_bytes_of(const Dispatch& dispatch) { return (dispatch.threadgroup_bytes + 15) / 16 * 16; }

bool is_empty(const Dispatch& dispatch) { return dispatch.groups[0] == 0 || dispatch.groups[1] == 0 || dispatch.groups[2] == 0; }

StepGraph::~StepGraph() {
  if (!exec_) return;
  const ContextScope scope(*context_);
  context_->driver().graph_exec_destroy(exec_);
}

Status StepGraph::create(const std::vector<Dispatch>& dispatches, const std::vector<const Kernel*>& kernels, const LaunchContext& launch) {
  const ContextScope scope(*context_);
  const Driver& driver = context_->driver();
  CUgraph graph = nullptr;
  CUresult result = driver.graph_create(&graph, 0);
  if (result != CUDA_SUCCESS) return driver.error(result, "the graph of a step");
  Status status = add_nodes(graph, dispatches, kernels, launch);
  if (status.ok()) {
    result = driver.graph_instantiate(&exec_, graph, 0);
    if (result != CUDA_SUCCESS) {
      exec_ = nullptr;
      status = driver.error(result, "the graph of a step");
    }
  }
  driver.graph_destroy(graph);
  return status;
}

Status StepGraph::add_nodes(CUgraph graph,
                            const std::vector<Dispatch>& dispatches,
                            const std::vector<const Kernel*>& kernels,
                            const LaunchContext& launch) const {
  const Driver& driver = context_->driver();
  // Kernels for these capabilities wait for the previous kernel by themselves, so that their independent work begins early. With many rows
  // that costs more than it gains: waiting threadgroups occupy multiprocessors.
  const bool has_few_rows =
      std::all_of(dispatches.begin(), dispatches.end(), [](const Dispatch& dispatch) { return dispatch.launch.rows <= kMostChainedRows; });
  const bool is_chain = has_few_rows && driver.graph_add_dependencies &&
                        context_->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= kFirstProgrammatic;
  const std::vector<std::vector<size_t>> dependencies = is_chain ? std::vector<std::vector<size_t>>(dispatches.size())
                                                                 : gpu::find_dependencies(dispatches);
  std::vector<CUgraphNode> nodes(dispatches.size(), nullptr);
  std::vector<CUgraphNode> before;
  for (size_t i = 0; i < dispatches.size(); ++i) {
    const Dispatch& dispatch = dispatches[i];
    LaunchArguments arguments;
    if (Status status = LaunchArguments::bind(dispatch, *kernels[i], launch, &arguments); !status.ok()) return status;
    before.clear();
    for (const size_t earlier : dependencies[i]) before.push_back(nodes[earlier]);
    const CUDA_KERNEL_NODE_PARAMS params = {kernels[i]->function,
                                            dispatch.groups[0],
                                            dispatch.groups[1],
                                            dispatch.groups[2],
                                            dispatch.threads,
                                            1,
                                            1,
                                            shared_bytes_of(dispatch),
                                            arguments.pointers(),
                                            nullptr};
    const CUresult result = driver.graph_add_kernel(&nodes[i], graph, before.data(), before.size(), &params);
    if (result != CUDA_SUCCESS) return driver.error(result, kernels[i]->name);
    if (!is_chain || i == 0) continue;
    const CUresult joined = driver.graph_add_dependencies(graph, &nodes[i - 1], &nodes[i], &CU_GRAPH_PROGRAMMATIC_EDGE, 1);
    if (joined != CUDA_SUCCESS) return driver.error(joined, kernels[i]->name);
  }
  return Status::good();
}

}  // namespace markbase::cuda
