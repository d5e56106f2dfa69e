// NSArray and NSDictionary over vectors. Dictionaries compare keys one by one, because they only hold a few here.
#include <cstdio>
#include <cstdlib>
#include <vector>

#import <Foundation/Foundation.h>

@interface NSArray () {
 @public
  std::vector<id> _objects;
}
@end

@interface NSDictionary () {
 @public
  std::vector<id> _keys;
  std::vector<id> _values;
}
@end

@implementation NSArray

+ (instancetype)array {
  return [[self alloc] init];
}

+ (instancetype)arrayWithObject:(id)object {
  return [self arrayWithObjects:&object count:1];
}

+ (instancetype)arrayWithObjects:(id const __unsafe_unretained[])objects count:(NSUInteger)count {
  NSArray* made = [[self alloc] init];
  made->_objects.assign(objects, objects + count);
  return made;
}

- (NSUInteger)count {
  return _objects.size();
}

- (id)firstObject {
  return _objects.empty() ? nil : _objects.front();
}

- (id)lastObject {
  return _objects.empty() ? nil : _objects.back();
}

- (id)objectAtIndex:(NSUInteger)index {
  if (index < _objects.size()) return _objects[index];
  std::fprintf(stderr, "NSArray: index %lu of %zu objects\n", index, _objects.size());
  std::abort();
}

- (id)objectAtIndexedSubscript:(NSUInteger)index {
  return [self objectAtIndex:index];
}

- (BOOL)containsObject:(id)object {
  for (id held : _objects) {
    if ([held isEqual:object]) return YES;
  }
  return NO;
}

- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state objects:(id __unsafe_unretained*)buffer count:(NSUInteger)length {
  static unsigned long never_changes = 0;
  NSUInteger given = 0;
  while (given < length && state->state < _objects.size()) buffer[given++] = _objects[state->state++];
  state->itemsPtr = buffer;
  state->mutationsPtr = &never_changes;
  return given;
}

@end

@implementation NSMutableArray

+ (instancetype)arrayWithCapacity:(NSUInteger)capacity {
  NSMutableArray* made = [[self alloc] init];
  made->_objects.reserve(capacity);
  return made;
}

- (void)addObject:(id)object {
  _objects.push_back(object);
}

- (void)removeLastObject {
  if (!_objects.empty()) _objects.pop_back();
}

- (void)removeAllObjects {
  _objects.clear();
}

- (id)copy {
  return [NSArray arrayWithObjects:reinterpret_cast<id const __unsafe_unretained*>(reinterpret_cast<const void*>(_objects.data()))
                             count:_objects.size()];
}

@end

@implementation NSDictionary

+ (instancetype)dictionary {
  return [[self alloc] init];
}

+ (instancetype)dictionaryWithObject:(id)object forKey:(id)key {
  return [self dictionaryWithObjects:&object forKeys:&key count:1];
}

+ (instancetype)dictionaryWithObjects:(id const __unsafe_unretained[])objects
                              forKeys:(id const __unsafe_unretained[])keys
                                count:(NSUInteger)count {
  NSDictionary* made = [[self alloc] init];
  made->_keys.assign(keys, keys + count);
  made->_values.assign(objects, objects + count);
  return made;
}

- (NSUInteger)count {
  return _keys.size();
}

- (NSArray*)allKeys {
  NSMutableArray* keys = [NSMutableArray array];
  for (id key : _keys) [keys addObject:key];
  return keys;
}

- (id)objectForKey:(id)key {
  for (size_t i = 0; i < _keys.size(); ++i) {
    if ([_keys[i] isEqual:key]) return _values[i];
  }
  return nil;
}

- (id)objectForKeyedSubscript:(id)key {
  return [self objectForKey:key];
}

@end

@implementation NSMutableDictionary

- (void)setObject:(id)object forKey:(id)key {
  [self removeObjectForKey:key];
  _keys.push_back(key);
  _values.push_back(object);
}

- (void)setObject:(id)object forKeyedSubscript:(id)key {
  if (object) {
    [self setObject:object forKey:key];
  } else {
    [self removeObjectForKey:key];
  }
}

- (void)removeObjectForKey:(id)key {
  for (size_t i = 0; i < _keys.size(); ++i) {
    if (![_keys[i] isEqual:key]) continue;
    _keys.erase(_keys.begin() + static_cast<long>(i));
    _values.erase(_values.begin() + static_cast<long>(i));
    return;
  }
}

@end
