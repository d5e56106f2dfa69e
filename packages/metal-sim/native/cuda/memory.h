#pragma once

#include <cstddef>
#include <cstdint>

#include "state.h"

namespace cuda_sim {

/** Memory from an address to the end of its allocation; the start is null if the address is unknown. */
struct Span {
  char* begin = nullptr;
  size_t size = 0;
};

Result allocate_device(uint64_t* address, size_t size);
Result free_device(uint64_t address);
void free_and_total(size_t* free_bytes, size_t* total_bytes);
/** The GPU's memory at an address. */
Span device_memory(uint64_t address);

Result allocate_host(void** memory, size_t size);
Result free_host(void* memory);
/** True for pinned memory, which is copied when the stream reaches the copy. */
bool is_pinned(const void* memory, size_t size);

}  // namespace cuda_sim
