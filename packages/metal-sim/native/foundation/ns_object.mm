// NSObject. Compiled without ARC, because it implements allocation and deallocation.
#include <cstdio>
#include <string>

#import <Foundation/Foundation.h>

#include "../objc/runtime.h"

namespace {

objc::Class* native(Class of_class) { return reinterpret_cast<objc::Class*>(of_class); }

}  // namespace

@implementation NSObject

+ (instancetype)alloc {
  return reinterpret_cast<id>(objc::create_instance(native(self)));
}

+ (instancetype)new {
  return [[self alloc] init];
}

+ (Class)class {
  return self;
}

- (instancetype)init {
  return self;
}

- (void)dealloc {
  objc::dispose_instance(reinterpret_cast<objc::Object*>(self));
}

- (id)copy {
  // Copyable classes of this Foundation are immutable, so a copy is another reference.
  extern id metal_sim_retain(id) __asm__("objc_retain");
  return metal_sim_retain(self);
}

- (BOOL)isEqual:(id)object {
  return self == object;
}

- (NSUInteger)hash {
  return reinterpret_cast<NSUInteger>(self) >> 4;
}

- (Class)class {
  return reinterpret_cast<Class>(objc::class_of(reinterpret_cast<objc::Object*>(self)));
}

- (BOOL)isKindOfClass:(Class)aClass {
  const objc::Class* of_class = objc::class_of(reinterpret_cast<objc::Object*>(self));
  for (; of_class; of_class = of_class->super_class) {
    if (of_class == native(aClass)) return YES;
  }
  return NO;
}

- (BOOL)respondsToSelector:(SEL)aSelector {
  const auto* selector = reinterpret_cast<const objc::Selector*>(aSelector);
  return objc::find_method(objc::class_of(reinterpret_cast<objc::Object*>(self)), selector->name) != nullptr;
}

- (NSString*)description {
  char text[160];
  std::snprintf(text, sizeof text, "<%s: %p>", native([self class])->name, static_cast<void*>(self));
  return [NSString stringWithUTF8String:text];
}

@end
