// The driver functions that hosts look up, with the names and the binary interface of NVIDIA's libcuda.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "launch.h"
#include "memory.h"
#include "stream.h"

using namespace cuda_sim;

namespace {

/** One context for the whole process: the primary context of the only device that has one. */
char primary_context;

struct GraphObject {
  Graph graph;
};

struct EventObject {
  std::shared_ptr<Event> event;
};

size_t add_live() { return state().live_objects += 1; }
void remove_live() { state().live_objects -= 1; }

int capability() { return static_cast<int>(setting("CUDA_SIM_CAPABILITY", 90)); }

/** Work that a failed context no longer does. */
template <typename Work>
void push(void* stream, Work work) {
  static_cast<Stream*>(stream)->push([work = std::move(work)]() mutable {
    const Result failure = state().failure;
    return failure == kSuccess ? work() : failure;
  });
}

uint64_t hash_of(const void* memory, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(memory);
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

Result check_range(uint64_t address, size_t size, const char* call) {
  if (device_memory(address).size >= size) return kSuccess;
  return misuse(kInvalidValue, std::string(call) + ": the range is not in one allocation of the GPU's memory");
}

const char* name_of(Result result) {
  switch (result) {
    case kSuccess: return "CUDA_SUCCESS";
    case kInvalidValue: return "CUDA_ERROR_INVALID_VALUE";
    case kOutOfMemory: return "CUDA_ERROR_OUT_OF_MEMORY";
    case kNotInitialized: return "CUDA_ERROR_NOT_INITIALIZED";
    case kNoDevice: return "CUDA_ERROR_NO_DEVICE";
    case kEcc: return "CUDA_ERROR_ECC_UNCORRECTABLE";
    case kInvalidPtx: return "CUDA_ERROR_INVALID_PTX";
    case kOldPtx: return "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
    case kNotFound: return "CUDA_ERROR_NOT_FOUND";
    case kIllegalAddress: return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case kLaunchTimeout: return "CUDA_ERROR_LAUNCH_TIMEOUT";
    case kLaunchFailed: return "CUDA_ERROR_LAUNCH_FAILED";
    default: return "CUDA_ERROR_UNKNOWN";
  }
}

}  // namespace

extern "C" {

CUDA_SIM_EXPORT Result cuInit(unsigned) {
  if (state().takes_failure(kCudaSimInit)) return kUnknown;
  if (setting("CUDA_SIM_GPUS", 1) == 0) return kNoDevice;
  state().is_initialized = true;
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuDriverGetVersion(int* version) {
  *version = static_cast<int>(setting("CUDA_SIM_VERSION", 12040));
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuGetErrorName(Result error, const char** text) {
  *text = name_of(error);
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuGetErrorString(Result error, const char** text) {
  *text = error == kSuccess ? "no error" : "simulated";
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuDeviceGetCount(int* count) {
  *count = static_cast<int>(setting("CUDA_SIM_GPUS", 1));
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < static_cast<int>(setting("CUDA_SIM_GPUS", 1)) ? kSuccess : kInvalidDevice;
}

CUDA_SIM_EXPORT Result cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<size_t>(length), "simulated GPU");
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    // Few multiprocessors, so that small grids fill them as large ones do on a GPU.
    case 16: *value = static_cast<int>(setting("CUDA_SIM_MULTIPROCESSORS", 2)); return kSuccess;
    case 75: *value = capability() / 10; return kSuccess;
    case 76: *value = capability() % 10; return kSuccess;
    case 97: *value = 227 * 1024; return kSuccess;
    default: return misuse(kInvalidValue, "cuDeviceGetAttribute: attribute " + std::to_string(attribute));
  }
}

CUDA_SIM_EXPORT Result cuDeviceTotalMem_v2(size_t* bytes, int) {
  size_t free_bytes = 0;
  free_and_total(&free_bytes, bytes);
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuDevicePrimaryCtxRetain(void** context, int) {
  if (state().takes_failure(kCudaSimNoContext)) return kOutOfMemory;
  if (!state().is_initialized) return misuse(kNotInitialized, "cuDevicePrimaryCtxRetain before cuInit");
  state().context_users += 1;
  add_live();
  *context = &primary_context;
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuDevicePrimaryCtxRelease_v2(int) {
  if (state().context_users.fetch_sub(1) <= 0) return misuse(kInvalidContext, "cuDevicePrimaryCtxRelease without a retain");
  remove_live();
  // The failure ends with the context.
  if (state().context_users == 0) state().failure = kSuccess;
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuCtxPushCurrent_v2(void* context) {
  if (context != &primary_context) return misuse(kInvalidContext, "cuCtxPushCurrent without a context");
  push_context(context);
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuCtxPopCurrent_v2(void** context) { return pop_context(context); }

CUDA_SIM_EXPORT Result cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  if (const Result result = check_context(); result != kSuccess) return result;
  free_and_total(free_bytes, total_bytes);
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuMemAlloc_v2(uint64_t* address, size_t size) {
  const Result result = check_context();
  return result == kSuccess ? allocate_device(address, size) : result;
}

CUDA_SIM_EXPORT Result cuMemFree_v2(uint64_t address) {
  // Memory of a failed context can be freed; it was lost with the rest.
  const Result result = check_context(), freed = free_device(address);
  return result == kSuccess ? freed : result;
}

CUDA_SIM_EXPORT Result cuMemAllocHost_v2(void** memory, size_t size) {
  const Result result = check_context();
  return result == kSuccess ? allocate_host(memory, size) : result;
}

CUDA_SIM_EXPORT Result cuMemFreeHost(void* memory) {
  const Result result = check_context(), freed = free_host(memory);
  return result == kSuccess ? freed : result;
}

CUDA_SIM_EXPORT Result cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t size, void* stream) {
  if (const Result result = check_context(); result != kSuccess) return result;
  if (const Result result = check_range(to, size, "cuMemcpyHtoDAsync"); result != kSuccess) return result;
  if (state().takes_failure(kCudaSimNoCopy)) return kInvalidValue;
  state().copies_to_device += 1;
  state().copied_bytes += size;
  auto* target = reinterpret_cast<char*>(to);
  if (!is_pinned(from, size)) {
    // Memory that is not pinned is read before the call returns.
    const auto* bytes = static_cast<const char*>(from);
    push(stream, [target, staged = std::vector<char>(bytes, bytes + size)] {
      std::memcpy(target, staged.data(), staged.size());
      return kSuccess;
    });
    return kSuccess;
  }
  push(stream, [target, from, size, hash = hash_of(from, size)] {
    if (hash_of(from, size) != hash) misuse(kInvalidValue, "cuMemcpyHtoDAsync: the host changed memory before it was copied");
    std::memcpy(target, from, size);
    return kSuccess;
  });
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t size, void* stream) {
  if (const Result result = check_context(); result != kSuccess) return result;
  if (const Result result = check_range(from, size, "cuMemcpyDtoHAsync"); result != kSuccess) return result;
  if (!is_pinned(to, size)) return misuse(kInvalidValue, "cuMemcpyDtoHAsync to memory that is not pinned waits for the stream");
  state().copies_to_host += 1;
  push(stream, [to, from, size] {
    std::memcpy(to, reinterpret_cast<const void*>(from), size);
    return kSuccess;
  });
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void* stream) {
  if (const Result result = check_context(); result != kSuccess) return result;
  if (const Result result = check_range(to, size, "cuMemsetD8Async"); result != kSuccess) return result;
  push(stream, [to, value, size] {
    std::memset(reinterpret_cast<void*>(to), value, size);
    return kSuccess;
  });
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuStreamCreate(void** stream, unsigned flags) {
  if (const Result result = check_context(); result != kSuccess) return result;
  if (state().takes_failure(kCudaSimNoStream)) return kOutOfMemory;
  if (flags != 1) return misuse(kInvalidValue, "cuStreamCreate: a stream that waits for the default stream");
  *stream = new Stream();
  add_live();
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuStreamDestroy_v2(void* stream) {
  delete static_cast<Stream*>(stream);
  remove_live();
  return check_context();
}

CUDA_SIM_EXPORT Result cuStreamSynchronize(void* stream) {
  static_cast<Stream*>(stream)->wait_until_idle();
  return check_context();
}

CUDA_SIM_EXPORT Result cuEventCreate(void** event, unsigned flags) {
  if (const Result result = check_context(); result != kSuccess) return result;
  if (state().takes_failure(kCudaSimNoEvent)) return kOutOfMemory;
  *event = new EventObject{std::make_shared<Event>((flags & 2) == 0)};
  add_live();
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuEventDestroy_v2(void* event) {
  delete static_cast<EventObject*>(event);
  remove_live();
  return check_context();
}

CUDA_SIM_EXPORT Result cuEventRecord(void* event, void* stream) {
  if (const Result result = check_context(); result != kSuccess) return result;
  const auto& recorded = static_cast<EventObject*>(event)->event;
  recorded->record(recorded, *static_cast<Stream*>(stream));
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuEventSynchronize(void* event) {
  static_cast<EventObject*>(event)->event->wait();
  return check_context();
}

CUDA_SIM_EXPORT Result cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  Event& first = *static_cast<EventObject*>(begin)->event;
  Event& last = *static_cast<EventObject*>(end)->event;
  if (!first.has_time() || !last.has_time()) return misuse(kInvalidHandle, "cuEventElapsedTime of events without time");
  if (!first.is_done() || !last.is_done()) return misuse(kNotReady, "cuEventElapsedTime of events that were not reached");
  *milliseconds = static_cast<float>(last.milliseconds_since(first));
  return check_context();
}

CUDA_SIM_EXPORT Result cuModuleLoadDataEx(void** module, const void* image, unsigned count, const int* options, void** values) {
  if (const Result result = check_context(); result != kSuccess) return result;
  std::unique_ptr<Module> loaded;
  std::string log;
  const Result result = load_module(static_cast<const char*>(image), &loaded, &log);
  char* buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5) buffer = static_cast<char*>(values[i]);
    if (options[i] == 6) size = reinterpret_cast<uintptr_t>(values[i]) & 0xffffffffu;
  }
  if (result != kSuccess && buffer && size > 0) std::snprintf(buffer, size, "%s", log.c_str());
  *module = loaded.release();
  return result;
}

CUDA_SIM_EXPORT Result cuModuleUnload(void* module) {
  delete static_cast<Module*>(module);
  remove_live();
  return check_context();
}

CUDA_SIM_EXPORT Result cuModuleGetFunction(void** function, void* module, const char* name) {
  if (const Result result = check_context(); result != kSuccess) return result;
  return find_function(*static_cast<Module*>(module), name, reinterpret_cast<Function**>(function));
}

CUDA_SIM_EXPORT Result cuFuncGetAttribute(int* value, int attribute, void* function) {
  const msl::KernelRecord& kernel = *static_cast<Function*>(function)->kernel;
  switch (attribute) {
    case 0: *value = kernel.max_threads ? static_cast<int>(kernel.max_threads) : 1024; return kSuccess;
    case 1: *value = 0; return kSuccess;
    default: return misuse(kInvalidValue, "cuFuncGetAttribute: attribute " + std::to_string(attribute));
  }
}

CUDA_SIM_EXPORT Result cuFuncSetAttribute(void* function, int attribute, int value) {
  if (attribute != 8 || value < 0 || value > 227 * 1024) return misuse(kInvalidValue, "cuFuncSetAttribute");
  static_cast<Function*>(function)->max_dynamic_bytes = static_cast<size_t>(value);
  return check_context();
}

CUDA_SIM_EXPORT Result cuLaunchKernel(void* function,
                                      unsigned gx,
                                      unsigned gy,
                                      unsigned gz,
                                      unsigned bx,
                                      unsigned by,
                                      unsigned bz,
                                      unsigned shared_bytes,
                                      void* stream,
                                      void** params,
                                      void**) {
  if (const Result result = check_context(); result != kSuccess) return result;
  if (state().takes_failure(kCudaSimNoLaunch)) return kInvalidValue;
  const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  Launch launch;
  const Result result = prepare_launch(static_cast<Function*>(function), grid, block, shared_bytes, params, &launch);
  if (result == kSuccess) push(stream, [launch] { return run_launch(launch); });
  return result;
}

CUDA_SIM_EXPORT Result cuGraphCreate(void** graph, unsigned) {
  *graph = new GraphObject();
  add_live();
  return check_context();
}

CUDA_SIM_EXPORT Result cuGraphDestroy(void* graph) {
  delete static_cast<GraphObject*>(graph);
  remove_live();
  return check_context();
}

/** CUDA_KERNEL_NODE_PARAMS of the function without a suffix. */
struct KernelNode {
  void* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** params;
  void** extra;
};

CUDA_SIM_EXPORT Result cuGraphAddKernelNode(void** node, void* graph, void* const* dependencies, size_t count, const KernelNode* params) {
  if (const Result result = check_context(); result != kSuccess) return result;
  Graph& target = static_cast<GraphObject*>(graph)->graph;
  Launch launch;
  const Result result =
      prepare_launch(static_cast<Function*>(params->function), params->grid, params->block, params->shared_bytes, params->params, &launch);
  if (result != kSuccess) return result;
  std::vector<size_t> earlier;
  for (size_t i = 0; i < count; ++i) {
    // Nodes are numbered from 1.
    const auto number = reinterpret_cast<uintptr_t>(dependencies[i]);
    if (number == 0 || number > target.launches.size()) return misuse(kInvalidValue, "cuGraphAddKernelNode: an unknown node");
    earlier.push_back(number - 1);
  }
  target.launches.push_back(std::move(launch));
  target.dependencies.push_back(std::move(earlier));
  *node = reinterpret_cast<void*>(target.launches.size());
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuGraphAddDependencies_v2(void* graph, void* const* from, void* const* to, const void*, size_t count) {
  if (const Result result = check_context(); result != kSuccess) return result;
  Graph& target = static_cast<GraphObject*>(graph)->graph;
  for (size_t i = 0; i < count; ++i) {
    const auto earlier = reinterpret_cast<uintptr_t>(from[i]), later = reinterpret_cast<uintptr_t>(to[i]);
    if (earlier == 0 || later <= earlier || later > target.launches.size()) {
      return misuse(kInvalidValue, "cuGraphAddDependencies_v2: an unknown node");
    }
    target.dependencies[later - 1].push_back(earlier - 1);
  }
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  if (const Result result = check_context(); result != kSuccess) return result;
  if (state().takes_failure(kCudaSimNoGraph)) return kOutOfMemory;
  *exec = new GraphObject(*static_cast<GraphObject*>(graph));
  state().graphs += 1;
  add_live();
  return kSuccess;
}

CUDA_SIM_EXPORT Result cuGraphExecDestroy(void* exec) {
  delete static_cast<GraphObject*>(exec);
  remove_live();
  return check_context();
}

CUDA_SIM_EXPORT Result cuGraphLaunch(void* exec, void* stream) {
  if (const Result result = check_context(); result != kSuccess) return result;
  if (state().takes_failure(kCudaSimNoLaunch)) return kInvalidValue;
  state().graph_launches += 1;
  // The graph may be destroyed while it runs.
  push(stream, [graph = static_cast<GraphObject*>(exec)->graph] { return run_graph(graph); });
  return kSuccess;
}
}
