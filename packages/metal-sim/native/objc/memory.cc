// Reference counts, weak references, autorelease pools and the entry points that ARC calls.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "blocks.h"
#include "runtime.h"

namespace objc {
namespace {

/** Header before every instance. */
struct Header {
  std::atomic<uint32_t> references;
  uint32_t padding[3];
};
static_assert(sizeof(Header) == 16, "instances stay aligned for vectors");

/** Count of an object that is being deallocated. */
constexpr uint32_t kDeallocating = 1u << 31;

Header& header_of(Object* object) { return reinterpret_cast<Header*>(object)[-1]; }

/** Nil, classes, and constants of the program are not counted. */
bool is_counted(Object* object) {
  return object && !is_tiny(object) && !(object->isa->info & kImmortalClass) && !(object->isa->info & kMetaclass) &&
         object->isa->isa != nullptr;
}

bool is_block(Object* object) { return object && !is_tiny(object) && (object->isa->info & kBlockClass); }

struct WeakTable {
  std::mutex mutex;
  std::unordered_map<Object*, std::vector<Object**>> locations;
};

WeakTable& weak_table() {
  static WeakTable* shared = new WeakTable;
  return *shared;
}

void call_for_each_class(Object* object, const char* method_name, bool base_first) {
  std::vector<Class*> chain;
  for (Class* of_class = object->isa; of_class; of_class = of_class->super_class) chain.push_back(of_class);
  if (base_first) chain = std::vector<Class*>(chain.rbegin(), chain.rend());
  for (Class* of_class : chain) {
    for (int32_t i = 0; of_class->methods && i < of_class->methods->count; ++i) {
      const MethodEntry& entry = of_class->methods->entries[i];
      if (std::strcmp(entry.selector->name, method_name) != 0) continue;
      reinterpret_cast<void (*)(Object*, Selector*)>(entry.function)(object, entry.selector);
    }
  }
}

Object* retain(Object* object) {
  // A block on the stack stays there; only objc_retainBlock moves it.
  if (is_block(object)) retain_block(object);
  if (is_counted(object)) header_of(object).references.fetch_add(1, std::memory_order_relaxed);
  return object;
}

void forget_weak_references(Object* object) {
  std::lock_guard lock(weak_table().mutex);
  auto found = weak_table().locations.find(object);
  if (found == weak_table().locations.end()) return;
  for (Object** location : found->second) *location = nullptr;
  weak_table().locations.erase(found);
}

void release(Object* object) {
  if (is_block(object)) return release_block(object);
  if (!is_counted(object)) return;
  const uint32_t before = header_of(object).references.fetch_sub(1, std::memory_order_acq_rel);
  if (before == 0) {
    std::fprintf(stderr, "objc: an object of class %s was released too often\n", object->isa->name);
    std::abort();
  }
  if (before != 1) return;
  // During deallocation, references that dealloc itself takes and drops must not deallocate it a second time.
  header_of(object).references.store(kDeallocating);
  forget_weak_references(object);
  static const char* dealloc = unique_name("dealloc");
  static Selector selector{dealloc, nullptr};
  reinterpret_cast<void (*)(Object*, Selector*)>(find_method(object->isa, dealloc))(object, &selector);
}

/** The pools of a thread as one stack with marks. Pools that were never popped are drained when the thread ends. */
struct PoolStack {
  std::vector<Object*> objects;
  void drain(size_t mark) {
    while (objects.size() > mark) {
      Object* object = objects.back();
      objects.pop_back();
      release(object);
    }
  }
  ~PoolStack() { drain(0); }
};

thread_local PoolStack pools;

Object* autorelease(Object* object) {
  if (object) pools.objects.push_back(object);
  return object;
}

/** The object, retained, unless it is being deallocated. */
Object* retain_weak(Object* object) {
  if (is_block(object)) return retain(object);
  if (!is_counted(object)) return object;
  auto& references = header_of(object).references;
  uint32_t count = references.load();
  while (count != 0 && count < kDeallocating) {
    if (references.compare_exchange_weak(count, count + 1)) return object;
  }
  return nullptr;
}

void remove_location(Object* object, Object** location) {
  auto found = weak_table().locations.find(object);
  if (found == weak_table().locations.end()) return;
  std::erase(found->second, location);
  if (found->second.empty()) weak_table().locations.erase(found);
}

/** [object copy], or the copy of a block. */
Object* copy(Object* object) {
  if (!object) return nullptr;
  if (is_block(object)) return reinterpret_cast<Object*>(copy_block(object));
  static Selector selector{unique_name("copy"), nullptr};
  return reinterpret_cast<Object* (*)(Object*, Selector*)>(find_method(class_of(object), selector.name))(object, &selector);
}

std::recursive_mutex& synchronized_mutex() {
  static auto* shared = new std::recursive_mutex;
  return *shared;
}

}  // namespace

Object* create_instance(Class* of_class) {
  auto* memory = static_cast<Header*>(std::calloc(1, sizeof(Header) + static_cast<size_t>(of_class->instance_size)));
  if (!memory) std::abort();
  new (&memory->references) std::atomic<uint32_t>(1);
  auto* object = reinterpret_cast<Object*>(memory + 1);
  object->isa = of_class;
  of_class->live.fetch_add(1);
  live_objects().fetch_add(1);
  call_for_each_class(object, ".cxx_construct", true);
  return object;
}

void dispose_instance(Object* object) {
  call_for_each_class(object, ".cxx_destruct", false);
  object->isa->live.fetch_sub(1);
  live_objects().fetch_sub(1);
  std::free(&header_of(object));
}

}  // namespace objc

using objc::Object;

extern "C" {

Object* objc_retain(Object* object) { return objc::retain(object); }
void objc_release(Object* object) { objc::release(object); }
Object* objc_autorelease(Object* object) { return objc::autorelease(object); }
Object* objc_retainBlock(Object* block) { return reinterpret_cast<Object*>(objc::copy_block(block)); }
Object* objc_retainAutorelease(Object* object) { return objc::autorelease(objc::retain(object)); }
Object* objc_autoreleaseReturnValue(Object* object) { return objc::autorelease(object); }
Object* objc_retainAutoreleaseReturnValue(Object* object) { return objc::autorelease(objc::retain(object)); }
Object* objc_retainAutoreleasedReturnValue(Object* object) { return objc::retain(object); }
Object* objc_unsafeClaimAutoreleasedReturnValue(Object* object) { return object; }

void objc_storeStrong(Object** location, Object* object) {
  Object* before = *location;
  *location = objc::retain(object);
  objc::release(before);
}

Object* objc_initWeak(Object** location, Object* object) {
  *location = object;
  if (!objc::is_counted(object)) return object;
  std::lock_guard lock(objc::weak_table().mutex);
  const uint32_t count = objc::header_of(object).references.load();
  if (count == 0 || count >= objc::kDeallocating) return *location = nullptr;
  objc::weak_table().locations[object].push_back(location);
  return object;
}

void objc_destroyWeak(Object** location) {
  std::lock_guard lock(objc::weak_table().mutex);
  if (*location) objc::remove_location(*location, location);
  *location = nullptr;
}

Object* objc_storeWeak(Object** location, Object* object) {
  objc_destroyWeak(location);
  return objc_initWeak(location, object);
}

Object* objc_loadWeakRetained(Object** location) {
  std::lock_guard lock(objc::weak_table().mutex);
  return objc::retain_weak(*location);
}

Object* objc_loadWeak(Object** location) { return objc::autorelease(objc_loadWeakRetained(location)); }

void objc_copyWeak(Object** target, Object** source) {
  Object* object = objc_loadWeakRetained(source);
  objc_initWeak(target, object);
  objc::release(object);
}

void objc_moveWeak(Object** target, Object** source) {
  objc_copyWeak(target, source);
  objc_destroyWeak(source);
}

void* objc_autoreleasePoolPush() { return reinterpret_cast<void*>(objc::pools.objects.size() + 1); }

void objc_autoreleasePoolPop(void* mark) { objc::pools.drain(reinterpret_cast<size_t>(mark) - 1); }

int objc_sync_enter(Object*) {
  objc::synchronized_mutex().lock();
  return 0;
}

int objc_sync_exit(Object*) {
  objc::synchronized_mutex().unlock();
  return 0;
}

void objc_enumerationMutation(Object*) {
  std::fprintf(stderr, "objc: a collection changed while it was enumerated\n");
  std::abort();
}

Object* objc_getProperty(Object* self, void*, ptrdiff_t offset, bool is_atomic) {
  auto** slot = reinterpret_cast<Object**>(reinterpret_cast<char*>(self) + offset);
  if (!is_atomic) return *slot;
  std::lock_guard lock(objc::synchronized_mutex());
  return objc::autorelease(objc::retain(*slot));
}

void objc_setProperty(Object* self, void*, ptrdiff_t offset, Object* value, bool is_atomic, bool is_copy) {
  auto** slot = reinterpret_cast<Object**>(reinterpret_cast<char*>(self) + offset);
  Object* kept = is_copy ? objc::copy(value) : objc::retain(value);
  std::unique_lock lock(objc::synchronized_mutex(), std::defer_lock);
  if (is_atomic) lock.lock();
  Object* before = *slot;
  *slot = kept;
  if (is_atomic) lock.unlock();
  objc::release(before);
}

void objc_setProperty_atomic(Object* self, void* selector, Object* value, ptrdiff_t offset) {
  objc_setProperty(self, selector, offset, value, true, false);
}
void objc_setProperty_nonatomic(Object* self, void* selector, Object* value, ptrdiff_t offset) {
  objc_setProperty(self, selector, offset, value, false, false);
}
void objc_setProperty_atomic_copy(Object* self, void* selector, Object* value, ptrdiff_t offset) {
  objc_setProperty(self, selector, offset, value, true, true);
}
void objc_setProperty_nonatomic_copy(Object* self, void* selector, Object* value, ptrdiff_t offset) {
  objc_setProperty(self, selector, offset, value, false, true);
}
}
