#pragma once

namespace objc {

/** A block that outlives its scope: the same one when it already does. */
void* copy_block(void* block);

/** One more reference to a block that lives on the heap; nothing for others. */
void retain_block(void* block);

void release_block(void* block);

}  // namespace objc
