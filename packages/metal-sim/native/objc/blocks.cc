// Blocks: closures that start on the stack and move to the heap when they are copied.
#include "blocks.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime.h"

namespace objc {
namespace {

constexpr int32_t kReferenceUnit = 2;
constexpr int32_t kIsGlobal = 1 << 28;
constexpr int32_t kHasCopyDispose = 1 << 25;
constexpr int32_t kIsHeap = 1 << 24;
constexpr int32_t kReferenceMask = 0xfffe;

constexpr int kFieldIsBlock = 7;
constexpr int kFieldIsByref = 8;

struct Descriptor {
  unsigned long reserved;
  unsigned long size;
  void (*copy)(void* target, const void* source);
  void (*dispose)(const void* source);
};

struct Block {
  Class* isa;
  std::atomic<int32_t> flags;
  int32_t reserved;
  void (*invoke)();
  Descriptor* descriptor;
};

/** A `__block` variable. */
struct Byref {
  void* isa;
  Byref* forwarding;
  std::atomic<int32_t> flags;
  uint32_t size;
  void (*keep)(Byref* target, Byref* source);
  void (*dispose)(Byref*);
};

}  // namespace
}  // namespace objc

extern "C" {

// The classes of blocks. They receive no messages, so only the flag is needed.
objc::Class _NSConcreteStackBlock{.name = "StackBlock", .info = objc::kBlockClass};
objc::Class _NSConcreteGlobalBlock{.name = "GlobalBlock", .info = objc::kBlockClass};
objc::Class _NSConcreteMallocBlock{.name = "HeapBlock", .info = objc::kBlockClass};

objc::Object* objc_retain(objc::Object*);
void objc_release(objc::Object*);

void* _Block_copy(void* source) {
  auto* block = static_cast<objc::Block*>(source);
  if (!block || block->flags & objc::kIsGlobal) return block;
  if (block->flags & objc::kIsHeap) {
    block->flags.fetch_add(objc::kReferenceUnit);
    return block;
  }
  auto* copy = static_cast<objc::Block*>(std::malloc(block->descriptor->size));
  if (!copy) std::abort();
  std::memcpy(static_cast<void*>(copy), block, block->descriptor->size);
  copy->isa = &_NSConcreteMallocBlock;
  const int32_t kept = block->flags & ~objc::kReferenceMask;
  new (&copy->flags) std::atomic<int32_t>(kept | objc::kIsHeap | objc::kReferenceUnit);
  if (kept & objc::kHasCopyDispose) block->descriptor->copy(copy, block);
  objc::live_objects().fetch_add(1);
  return copy;
}

void _Block_release(const void* source) {
  auto* block = static_cast<objc::Block*>(const_cast<void*>(source));
  if (!block || !(block->flags & objc::kIsHeap)) return;
  const int32_t before = block->flags.fetch_sub(objc::kReferenceUnit);
  if ((before & objc::kReferenceMask) != objc::kReferenceUnit) return;
  if (before & objc::kHasCopyDispose) block->descriptor->dispose(block);
  objc::live_objects().fetch_sub(1);
  std::free(block);
}

void _Block_object_assign(void* target, const void* object, int flags) {
  auto* slot = static_cast<void**>(target);
  if ((flags & 15) == objc::kFieldIsBlock) {
    *slot = _Block_copy(const_cast<void*>(object));
    return;
  }
  if ((flags & 15) != objc::kFieldIsByref) {
    *slot = objc_retain(static_cast<objc::Object*>(const_cast<void*>(object)));
    return;
  }
  auto* source = static_cast<objc::Byref*>(const_cast<void*>(object))->forwarding;
  if (!(source->flags & objc::kIsHeap)) {
    auto* copy = static_cast<objc::Byref*>(std::malloc(source->size));
    if (!copy) std::abort();
    std::memcpy(static_cast<void*>(copy), source, source->size);
    // One reference for the stack frame, one for the block.
    new (&copy->flags) std::atomic<int32_t>(source->flags | objc::kIsHeap | 2 * objc::kReferenceUnit);
    copy->forwarding = copy;
    if (source->flags & objc::kHasCopyDispose) copy->keep(copy, source);
    source->forwarding = copy;
    *slot = copy;
    return;
  }
  source->flags.fetch_add(objc::kReferenceUnit);
  *slot = source;
}

void _Block_object_dispose(const void* object, int flags) {
  if ((flags & 15) == objc::kFieldIsBlock) return _Block_release(object);
  if ((flags & 15) != objc::kFieldIsByref) {
    return objc_release(static_cast<objc::Object*>(const_cast<void*>(object)));
  }
  auto* byref = static_cast<objc::Byref*>(const_cast<void*>(object))->forwarding;
  if (!(byref->flags & objc::kIsHeap)) return;
  const int32_t before = byref->flags.fetch_sub(objc::kReferenceUnit);
  if ((before & objc::kReferenceMask) != objc::kReferenceUnit) return;
  if (before & objc::kHasCopyDispose) byref->dispose(byref);
  std::free(byref);
}
}

namespace objc {

void* copy_block(void* block) { return _Block_copy(block); }
void retain_block(void* block) {
  auto* held = static_cast<Block*>(block);
  if (held->flags & kIsHeap) held->flags.fetch_add(kReferenceUnit);
}

void release_block(void* block) { _Block_release(block); }

}  // namespace objc
