#pragma once

#include <cstdint>

/**
 * Functions for tests, exported from libcuda-sim.so beside those of the driver: what to go wrong, and what was counted. What the
 * machine is like comes from the environment: CUDA_SIM_VERSION (12040), CUDA_SIM_CAPABILITY (90), CUDA_SIM_GPUS (1) and
 * CUDA_SIM_MEMORY, in bytes.
 */
extern "C" {

#define CUDA_SIM_EXPORT __attribute__((visibility("default")))

/** Kinds of failures that can be ordered. */
enum CudaSimFailure {
  kCudaSimInit = 0,          ///< cuInit fails
  kCudaSimNoContext = 1,     ///< the primary context cannot be had
  kCudaSimNoMemory = 2,      ///< memory of the GPU cannot be had
  kCudaSimNoHostMemory = 3,  ///< pinned memory cannot be had
  kCudaSimNoModule = 4,      ///< PTX does not compile
  kCudaSimOldPtx = 5,        ///< PTX is of a newer version than the driver's
  kCudaSimNoGraph = 6,       ///< a graph cannot be instantiated
  kCudaSimNoLaunch = 7,      ///< cuGraphLaunch and cuLaunchKernel refuse, and the GPU goes on
  kCudaSimLaunchFails = 8,   ///< a kernel fails while it runs: every later call of the context does too
  kCudaSimEcc = 9,           ///< the same with an ECC error
  kCudaSimNoStream = 10,
  kCudaSimNoEvent = 11,
  kCudaSimNoCopy = 12,  ///< a copy to the GPU refuses
  kCudaSimFailureKinds = 13,
};

/** Orders a failure: the event of that kind after `skip` more of them fails, `count` times. */
CUDA_SIM_EXPORT void cuda_sim_fail(int kind, uint32_t skip, uint32_t count);

/** Takes back all orders, and lets a failed context work again. */
CUDA_SIM_EXPORT void cuda_sim_reset(void);

/** What has happened since the last call of cuda_sim_reset_counts. */
struct CudaSimCounts {
  uint64_t launches;  ///< kernels, in graphs and outside
  uint64_t graph_launches;
  uint64_t graphs;  ///< instantiated
  uint64_t copies_to_device;
  uint64_t copies_to_host;
  uint64_t copied_bytes;  ///< to the device
  uint64_t allocations;   ///< of the GPU's memory
  uint64_t modules;
  uint64_t misuses;          ///< of the API; each is written to stderr
  uint64_t live_objects;     ///< contexts, memory, streams, events, modules and graphs that exist now
  uint64_t allocated_bytes;  ///< of the GPU's memory now
};

CUDA_SIM_EXPORT void cuda_sim_counts(struct CudaSimCounts* counts);
CUDA_SIM_EXPORT void cuda_sim_reset_counts(void);
}
