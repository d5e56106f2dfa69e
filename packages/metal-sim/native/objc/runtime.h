#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/**
 * A small Objective-C runtime for clang's GNUstep 2.0 ABI on Linux: enough for ARC, weak references, blocks, categories and non-fragile
 * instance variables. All classes come from one linked file and are known when it is loaded: classes and methods cannot be added later, so
 * method tables never change and are read without locks.
 */
namespace objc {

/** As clang emits it; `name` is made unique when the file is loaded, so that selectors can be compared by pointer. */
struct Selector {
  const char* name;
  const char* types;
};

using Method = void (*)();

struct MethodEntry {
  Method function;
  Selector* selector;
  const char* types;
};

struct MethodList {
  MethodList* next;
  int32_t count;
  size_t entry_bytes;
  MethodEntry entries[1];
};

struct Ivar {
  const char* name;
  const char* type;
  int32_t* offset;
  uint32_t size;
  uint32_t flags;  ///< log2 of the alignment above bit 3
};

struct IvarList {
  int32_t count;
  size_t entry_bytes;
  Ivar entries[1];
};

class MethodTable;

struct Class {
  Class* isa = nullptr;
  Class* super_class = nullptr;
  const char* name = nullptr;
  std::atomic<long> live = 0;  ///< the unused `version` field of the ABI: number of existing objects
  unsigned long info = 0;      ///< kMetaclass and the flags of this runtime
  long instance_size = 0;      ///< as emitted: minus the size of its own variables
  IvarList* ivars = nullptr;
  MethodList* methods = nullptr;
  MethodTable* table = nullptr;
  Method construct = nullptr;
  Method destruct = nullptr;
  Class* subclasses = nullptr;
  Class* siblings = nullptr;
  void* protocols = nullptr;
  void* extra = nullptr;
  long abi_version = 0;
  void* properties = nullptr;
};

inline constexpr unsigned long kMetaclass = 1;
inline constexpr unsigned long kBlockClass = 1ul << 16;
inline constexpr unsigned long kImmortalClass = 1ul << 17;  ///< instances are constants of the program
inline constexpr unsigned long kResolved = 1ul << 18;

struct Object {
  Class* isa;
};

/** Strings of up to eight ASCII characters are stored in the pointer. */
inline bool is_tiny(const Object* object) { return (reinterpret_cast<uintptr_t>(object) & 7) == 4; }

/** The class of any object but nil. */
Class* class_of(const Object* object);

/** Null if neither the class nor an ancestor has such a method. */
Method find_method(const Class* receiver, const char* unique_name);

/** One pointer per spelling. */
const char* unique_name(const char* name);

/** A class by its name, or null. */
Class* find_class(const char* name);

Object* create_instance(Class* of_class);
void dispose_instance(Object* object);

/** Number of existing objects and heap blocks. */
std::atomic<long>& live_objects();

/** "MTLFakeBuffer: 2" per class with live objects. */
std::vector<std::string> describe_live_objects();

}  // namespace objc
