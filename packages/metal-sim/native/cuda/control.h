#pragma once

#include <cstdint>

/**
 * Functions for tests, exported from libcuda-sim.so along with those of the driver: they request failures and return counts. Environment
 * variables describe the machine: CUDA_SIM_VERSION (12040), CUDA_SIM_CAPABILITY (90), CUDA_SIM_GPUS (1) and CUDA_SIM_MEMORY, in bytes.
 */
extern "C" {

#define CUDA_SIM_EXPORT __attribute__((visibility("default")))

/** Kinds of failures that a test can request. */
enum CudaSimFailure {
  kCudaSimInit = 0,          ///< cuInit fails
  kCudaSimNoContext = 1,     ///< the primary context cannot be created
  kCudaSimNoMemory = 2,      ///< memory of the GPU cannot be allocated
  kCudaSimNoHostMemory = 3,  ///< pinned memory cannot be allocated
  kCudaSimNoModule = 4,      ///< PTX does not compile
  kCudaSimOldPtx = 5,        ///< the PTX version is newer than the driver's
  kCudaSimNoGraph = 6,       ///< a graph cannot be instantiated
  kCudaSimNoLaunch = 7,      ///< cuGraphLaunch and cuLaunchKernel fail, and the GPU continues
  kCudaSimLaunchFails = 8,   ///< a kernel fails while it runs, as does every later call of the context
  kCudaSimEcc = 9,           ///< the same with an ECC error
  kCudaSimNoStream = 10,
  kCudaSimNoEvent = 11,
  kCudaSimNoCopy = 12,  ///< a copy to the GPU fails
  kCudaSimFailureKinds = 13,
};

/** Requests failures: after `skip` more events of that kind, the next `count` fail. */
CUDA_SIM_EXPORT void cuda_sim_fail(int kind, uint32_t skip, uint32_t count);

/** Cancels all requests, and lets a failed context work again. */
CUDA_SIM_EXPORT void cuda_sim_reset(void);

/** Counts since the last call of cuda_sim_reset_counts. */
struct CudaSimCounts {
  uint64_t launches;  ///< kernels, in graphs and outside them
  uint64_t graph_launches;
  uint64_t graphs;  ///< instantiated
  uint64_t copies_to_device;
  uint64_t copies_to_host;
  uint64_t copied_bytes;  ///< to the device
  uint64_t allocations;   ///< of the GPU's memory
  uint64_t modules;
  uint64_t misuses;          ///< misuses of the API; each is written to stderr
  uint64_t live_objects;     ///< existing contexts, memory, streams, events, modules and graphs
  uint64_t allocated_bytes;  ///< of the GPU's memory currently allocated
};

CUDA_SIM_EXPORT void cuda_sim_counts(struct CudaSimCounts* counts);
CUDA_SIM_EXPORT void cuda_sim_reset_counts(void);
}
