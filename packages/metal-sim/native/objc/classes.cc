// Loading: makes selectors unique, links classes to their parents, assigns offsets to variables, and flattens method tables.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "runtime.h"

namespace objc {

class MethodTable {
 public:
  explicit MethodTable(const MethodTable* parent) {
    if (parent) methods_ = parent->methods_;
  }
  void add(const MethodList* list) {
    for (; list; list = list->next) {
      for (int32_t i = 0; i < list->count; ++i) {
        methods_[list->entries[i].selector->name] = list->entries[i].function;
      }
    }
  }
  Method find(const char* name) const {
    auto found = methods_.find(name);
    return found == methods_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<const void*, Method> methods_;
};

namespace {

struct Category {
  const char* name;
  const char* class_name;
  MethodList* instance_methods;
  MethodList* class_methods;
  void* protocols;
  void* properties;
  void* class_properties;
};

struct ConstantString {
  Class* isa;
  uint32_t flags, length, size, hash;
  const void* data;
};

/** What `__objc_load` receives, as clang emits it. */
struct Module {
  uint64_t version;
  Selector *selectors, *selectors_end;
  Class **classes, **classes_end;
  Class **class_references, **class_references_end;
  Category *categories, *categories_end;
  void *protocols, *protocols_end;
  void *protocol_references, *protocol_references_end;
  void *aliases, *aliases_end;
  ConstantString *strings, *strings_end;
};

struct Registry {
  std::mutex mutex;
  std::unordered_set<std::string> names;
  std::unordered_map<std::string, Class*> classes;
  std::atomic<long> live{0};
};

/** Never destroyed, because objects are released until the very end of the process. */
Registry& registry() {
  static Registry* shared = new Registry;
  return *shared;
}

void lay_out_variables(Class* target) {
  long size = target->super_class ? target->super_class->instance_size : 0;
  for (int32_t i = 0; target->ivars && i < target->ivars->count; ++i) {
    Ivar& ivar = target->ivars->entries[i];
    const long alignment = 1l << (ivar.flags >> 3);
    size = (size + alignment - 1) / alignment * alignment;
    *ivar.offset = static_cast<int32_t>(size);
    size += ivar.size;
  }
  target->instance_size = size;
}

void resolve(Class* target) {
  if (target->info & kResolved) return;
  target->info |= kResolved;
  Class* parent = target->super_class;
  Class* meta = target->isa;
  if (parent) {
    resolve(parent);
    meta->super_class = parent->isa;
    meta->isa = parent->isa->isa;
    // A subclass of a block or constant class is one too.
    target->info |= parent->info & (kBlockClass | kImmortalClass);
  } else {
    meta->super_class = target;
    meta->isa = meta;
  }
  lay_out_variables(target);
  target->table = new MethodTable(parent ? parent->table : nullptr);
  target->table->add(target->methods);
  meta->info |= kMetaclass | kResolved;
  meta->table = new MethodTable(parent ? parent->isa->table : target->table);
  meta->table->add(meta->methods);
}

void add_category(const Category& category) {
  auto found = registry().classes.find(category.class_name);
  if (found == registry().classes.end()) {
    std::fprintf(stderr, "objc: category %s of unknown class %s\n", category.name, category.class_name);
    std::abort();
  }
  if (category.instance_methods) found->second->table->add(category.instance_methods);
  if (category.class_methods) found->second->isa->table->add(category.class_methods);
}

void load(Module* module) {
  for (Selector* selector = module->selectors; selector < module->selectors_end; ++selector) {
    if (selector->name) selector->name = unique_name(selector->name);
  }
  for (Class** entry = module->classes; entry < module->classes_end; ++entry) {
    if (*entry) registry().classes[(*entry)->name] = *entry;
  }
  for (auto& [name, loaded] : registry().classes) resolve(loaded);
  for (Category* category = module->categories; category < module->categories_end; ++category) {
    if (category->class_name) add_category(*category);
  }
  Class* string_class = find_class("NSConstantString");
  if (!string_class) return;
  string_class->info |= kImmortalClass;
  for (ConstantString* text = module->strings; text < module->strings_end; ++text) text->isa = string_class;
}

}  // namespace

Class* class_of(const Object* object) {
  if (!is_tiny(object)) return object->isa;
  static Class* tiny = find_class("NSTinyString");
  return tiny;
}

Method find_method(const Class* receiver, const char* name) { return receiver->table ? receiver->table->find(name) : nullptr; }

const char* unique_name(const char* name) {
  std::lock_guard lock(registry().mutex);
  return registry().names.insert(name).first->c_str();
}

Class* find_class(const char* name) {
  auto found = registry().classes.find(name);
  return found == registry().classes.end() ? nullptr : found->second;
}

std::atomic<long>& live_objects() { return registry().live; }

std::vector<std::string> describe_live_objects() {
  std::vector<std::string> lines;
  for (const auto& [name, loaded] : registry().classes) {
    const long count = loaded->live.load();
    if (count != 0) lines.push_back(name + ": " + std::to_string(count));
  }
  return lines;
}

}  // namespace objc

extern "C" __attribute__((visibility("default"))) void __objc_load(objc::Module* module) { objc::load(module); }
