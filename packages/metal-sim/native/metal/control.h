#pragma once

#include <cstddef>
#include <cstdint>

/**
 * Functions for tests: they request failures and return counts. They are exported from the binary that the simulator is linked into, where
 * a test finds them by name.
 */
extern "C" {

#define METAL_SIM_EXPORT __attribute__((visibility("default")))

/** Kinds of failures that a test can request. */
enum MetalSimFailure {
  kMetalSimCommandBufferFails = 0,  ///< a command buffer ends with MTLCommandBufferErrorInternal and runs nothing
  kMetalSimDeviceLost = 1,          ///< ... with MTLCommandBufferErrorDeviceRemoved, as do all after it
  kMetalSimTimeout = 2,             ///< ... with MTLCommandBufferErrorTimeout
  kMetalSimOutOfMemory = 3,         ///< ... with MTLCommandBufferErrorOutOfMemory
  kMetalSimNoBuffer = 4,            ///< a buffer or heap cannot be created: the method returns nil
  kMetalSimNoLibrary = 5,           ///< a library does not compile
  kMetalSimNoPipeline = 6,          ///< a pipeline cannot be created
  kMetalSimNoArchive = 7,           ///< a binary archive cannot be opened or written
  kMetalSimNoDevice = 8,            ///< MTLCreateSystemDefaultDevice returns nil
  kMetalSimNoQueue = 9,
  kMetalSimNoCommandBuffer = 10,
  kMetalSimOldGpu = 11,      ///< the GPU belongs to no Apple family
  kMetalSimNoFunction = 12,  ///< a library lacks a function by name
  kMetalSimFewThreads = 13,  ///< a pipeline runs with at most 32 threads, like one that needs many registers
  kMetalSimFailureKinds = 14,
};

/** Requests failures: after `skip` more events of that kind, the next `count` fail. */
METAL_SIM_EXPORT void metal_sim_fail(int kind, uint32_t skip, uint32_t count);

/** Cancels all requests, and restores a lost device. */
METAL_SIM_EXPORT void metal_sim_reset(void);

/** Counts since the last call of metal_sim_reset_counts. */
struct MetalSimCounts {
  uint64_t command_buffers;
  uint64_t encoders;
  uint64_t dispatches;
  uint64_t barriers;
  uint64_t waits;  ///< waitUntilCompleted and completed handlers
  uint64_t threadgroups;
  uint64_t validation_errors;
  uint64_t libraries;
  uint64_t pipelines;
  uint64_t read_bytes;       ///< with METAL_SIM_CHECK=1: bytes read from read-only buffers, each counted once per dispatch
  uint64_t live_objects;     ///< existing Objective-C objects and blocks
  uint64_t allocated_bytes;  ///< bytes of existing buffers and heaps
};

METAL_SIM_EXPORT void metal_sim_counts(struct MetalSimCounts* counts);
METAL_SIM_EXPORT void metal_sim_reset_counts(void);

/** Classes with live objects, one "name: count" per line; returns the length, and writes up to `size` bytes. */
METAL_SIM_EXPORT size_t metal_sim_live_objects(char* text, size_t size);

/** Text of the last validation error, or "". */
METAL_SIM_EXPORT size_t metal_sim_last_validation_error(char* text, size_t size);

/** One line per dispatch since the last reset_counts: kernel, threadgroups, threads, encoder label; kept up to 100,000. */
METAL_SIM_EXPORT size_t metal_sim_trace(char* text, size_t size);
}
