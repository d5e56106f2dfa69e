#pragma once

#include <cstddef>

namespace markbase::cpu {

/**
 * Guards a file mapping against SIGBUS, which the kernel sends when a page after the end of a truncated file is read.
 * The handler puts a zero page in place of the lost one and marks the mapping as damaged; signals outside guarded mappings go to the
 * previous SIGBUS handler. Signal handlers belong to the process, so this table is the only global state of the addon. Returns an entry for
 * the other functions, or -1 when the table is full (the mapping is then unguarded).
 */
int guard_mapping(void* address, size_t size);
void unguard_mapping(int entry);
bool mapping_is_damaged(int entry);

}  // namespace markbase::cpu
