#pragma once

namespace objc {

/** A block that outlives its scope: the same block if it already does. */
void* copy_block(void* block);

/** Adds a reference to a block on the heap; no effect for others. */
void retain_block(void* block);

void release_block(void* block);

}  // namespace objc
