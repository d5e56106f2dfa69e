#pragma once

#include <cstddef>
#include <cstdint>

/**
 * The part of NVIDIA's driver API that the backend uses, declared here so that nothing of a toolkit is needed to build it. Types,
 * constants and signatures are those of the driver's binary interface, which stays the same from version to version.
 */
namespace markbase::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_SYSTEM_NOT_READY = 802,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

enum CUjit_option : int {
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_DEFAULT = 0;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;

/** What an edge of a graph waits for. */
struct CUgraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
/**
 * A node may start when all threadgroups of its predecessor allow it (griddepcontrol.launch_dependents), and waits by itself for the
 * predecessor's end.
 */
inline constexpr CUgraphEdgeData CU_GRAPH_PROGRAMMATIC_EDGE = {1, 0, 1, {}};

/** CUDA_KERNEL_NODE_PARAMS of version 1, which cuGraphAddKernelNode without a suffix takes. */
struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};
static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 56, "the driver's layout");

/** Every function, by member and library name: MARKBASE_CUDA_FUNCTIONS(F) with F(member, symbol, parameters). */
#define MARKBASE_CUDA_FUNCTIONS(F)                                                                                                   \
  F(init, "cuInit", (unsigned flags))                                                                                                \
  F(driver_version, "cuDriverGetVersion", (int* version))                                                                            \
  F(error_name, "cuGetErrorName", (CUresult error, const char** text))                                                               \
  F(error_string, "cuGetErrorString", (CUresult error, const char** text))                                                           \
  F(device_count, "cuDeviceGetCount", (int* count))                                                                                  \
  F(device_get, "cuDeviceGet", (CUdevice * device, int ordinal))                                                                     \
  F(device_name, "cuDeviceGetName", (char* name, int length, CUdevice device))                                                       \
  F(device_attribute, "cuDeviceGetAttribute", (int* value, CUdevice_attribute attribute, CUdevice device))                           \
  F(device_total_memory, "cuDeviceTotalMem_v2", (size_t* bytes, CUdevice device))                                                    \
  F(context_retain, "cuDevicePrimaryCtxRetain", (CUcontext * context, CUdevice device))                                              \
  F(context_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice device))                                                              \
  F(context_push, "cuCtxPushCurrent_v2", (CUcontext context))                                                                        \
  F(context_pop, "cuCtxPopCurrent_v2", (CUcontext * context))                                                                        \
  F(memory_info, "cuMemGetInfo_v2", (size_t* free_bytes, size_t* total_bytes))                                                       \
  F(memory_alloc, "cuMemAlloc_v2", (CUdeviceptr * address, size_t bytes))                                                            \
  F(memory_free, "cuMemFree_v2", (CUdeviceptr address))                                                                              \
  F(host_alloc, "cuMemAllocHost_v2", (void** memory, size_t bytes))                                                                  \
  F(host_free, "cuMemFreeHost", (void* memory))                                                                                      \
  F(copy_to_device, "cuMemcpyHtoDAsync_v2", (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))                       \
  F(copy_to_host, "cuMemcpyDtoHAsync_v2", (void* to, CUdeviceptr from, size_t bytes, CUstream stream))                               \
  F(fill_bytes, "cuMemsetD8Async", (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))                             \
  F(stream_create, "cuStreamCreate", (CUstream * stream, unsigned flags))                                                            \
  F(stream_destroy, "cuStreamDestroy_v2", (CUstream stream))                                                                         \
  F(stream_synchronize, "cuStreamSynchronize", (CUstream stream))                                                                    \
  F(event_create, "cuEventCreate", (CUevent * event, unsigned flags))                                                                \
  F(event_destroy, "cuEventDestroy_v2", (CUevent event))                                                                             \
  F(event_record, "cuEventRecord", (CUevent event, CUstream stream))                                                                 \
  F(event_synchronize, "cuEventSynchronize", (CUevent event))                                                                        \
  F(event_elapsed, "cuEventElapsedTime", (float* milliseconds, CUevent begin, CUevent end))                                          \
  F(module_load, "cuModuleLoadDataEx", (CUmodule * module, const void* image, unsigned options, CUjit_option* names, void** values)) \
  F(module_unload, "cuModuleUnload", (CUmodule module))                                                                              \
  F(module_function, "cuModuleGetFunction", (CUfunction * function, CUmodule module, const char* name))                              \
  F(function_attribute, "cuFuncGetAttribute", (int* value, CUfunction_attribute attribute, CUfunction function))                     \
  F(function_set_attribute, "cuFuncSetAttribute", (CUfunction function, CUfunction_attribute attribute, int value))                  \
  F(launch_kernel, "cuLaunchKernel",                                                                                                 \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,   \
     unsigned shared_bytes, CUstream stream, void** params, void** extra))                                                           \
  F(graph_create, "cuGraphCreate", (CUgraph * graph, unsigned flags))                                                                \
  F(graph_destroy, "cuGraphDestroy", (CUgraph graph))                                                                                \
  F(graph_add_kernel, "cuGraphAddKernelNode",                                                                                        \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, size_t count, const CUDA_KERNEL_NODE_PARAMS* params))       \
  F(graph_instantiate, "cuGraphInstantiateWithFlags", (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                 \
  F(graph_exec_destroy, "cuGraphExecDestroy", (CUgraphExec exec))                                                                    \
  F(graph_launch, "cuGraphLaunch", (CUgraphExec exec, CUstream stream))

/** Functions that older drivers lack. */
#define MARKBASE_CUDA_OPTIONAL_FUNCTIONS(F)              \
  F(graph_add_dependencies, "cuGraphAddDependencies_v2", \
    (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edges, size_t count))

}  // namespace markbase::cuda
