// Buffers and heaps.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "resources.h"
#include "state.h"

using metal_sim::report_validation;
using metal_sim::state;

namespace {

/** Alignment of the buffers that the simulator allocates; they end at a guard page, so that accesses beyond the end fault. */
constexpr NSUInteger kBufferAlignment = 256;

std::string number(NSUInteger value) { return std::to_string(value); }

MTLStorageMode storage_of(MTLResourceOptions options) { return static_cast<MTLStorageMode>((static_cast<NSUInteger>(options) >> 4) & 15); }

MTLHazardTrackingMode tracking_of(MTLResourceOptions options, MTLHazardTrackingMode fallback) {
  const auto mode = static_cast<MTLHazardTrackingMode>((static_cast<NSUInteger>(options) >> 8) & 3);
  return mode == MTLHazardTrackingModeDefault ? fallback : mode;
}

}  // namespace

@interface MTLSimHeap ()
- (void)freeRange:(NSRange)range;
@end

@implementation MTLSimBuffer {
  id<MTLDevice> _device;
  MTLSimHeap* _heap;
  NSUInteger _heapOffset;
  msl::GuardedMemory _owned;
  msl::BoundMemory _memory;
  MTLResourceOptions _options;
  MTLHazardTrackingMode _tracking;
  void (^_deallocator)(void*, NSUInteger);
}

@synthesize label = _label;
@synthesize device = _device;
@synthesize heapOffset = _heapOffset;
@synthesize memory = _memory;
@synthesize hazardTrackingMode = _tracking;

+ (MTLSimBuffer*)bufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options device:(id<MTLDevice>)device {
  if (state().takes_failure(kMetalSimNoBuffer)) return nil;
  if (length == 0 || length > device.maxBufferLength) {
    report_validation("newBufferWithLength: " + number(length) + " bytes, expected 1 to " + number(device.maxBufferLength));
    return nil;
  }
  MTLSimBuffer* buffer = [[MTLSimBuffer alloc] init];
  buffer->_owned = msl::GuardedMemory(length, kBufferAlignment);
  if (!buffer->_owned) return nil;
  buffer->_memory = {buffer->_owned.begin(), length};
  // Fresh pages are zero, as Metal promises for a device's buffers; those of a heap are poisoned.
  buffer->_device = device;
  buffer->_options = options;
  buffer->_tracking = tracking_of(options, MTLHazardTrackingModeTracked);
  state().allocated_bytes += length;
  return buffer;
}

+ (MTLSimBuffer*)bufferWithPointer:(void*)pointer
                            length:(NSUInteger)length
                           options:(MTLResourceOptions)options
                       deallocator:(void (^)(void*, NSUInteger))deallocator
                            device:(id<MTLDevice>)device {
  if (state().takes_failure(kMetalSimNoBuffer)) return nil;
  const auto page = static_cast<NSUInteger>(sysconf(_SC_PAGESIZE));
  if (reinterpret_cast<uintptr_t>(pointer) % page != 0 || length % page != 0 || length == 0) {
    report_validation("newBufferWithBytesNoCopy: the pointer and " + number(length) + " bytes, expected multiples of the page size " +
                      number(page));
    return nil;
  }
  if (storage_of(options) == MTLStorageModePrivate) {
    report_validation("newBufferWithBytesNoCopy: private storage, expected shared");
    return nil;
  }
  MTLSimBuffer* buffer = [[MTLSimBuffer alloc] init];
  buffer->_memory = {static_cast<char*>(pointer), length};
  buffer->_device = device;
  buffer->_options = options;
  buffer->_tracking = tracking_of(options, MTLHazardTrackingModeTracked);
  buffer->_deallocator = deallocator;
  return buffer;
}

+ (MTLSimBuffer*)bufferInHeap:(MTLSimHeap*)heap
                       memory:(msl::BoundMemory)memory
                       offset:(NSUInteger)offset
                      options:(MTLResourceOptions)options __attribute__((ns_returns_retained)) {
  MTLSimBuffer* buffer = [[MTLSimBuffer alloc] init];
  buffer->_memory = memory;
  buffer->_device = heap.device;
  buffer->_heap = heap;
  buffer->_heapOffset = offset;
  buffer->_options = options;
  buffer->_tracking = tracking_of(options, heap.hazardTrackingMode);
  return buffer;
}

- (void)dealloc {
  if (_heap) [_heap freeRange:NSMakeRange(_heapOffset, _memory.size)];
  if (_owned) state().allocated_bytes -= _memory.size;
  if (_deallocator) _deallocator(_memory.begin, _memory.size);
}

- (id<MTLHeap>)heap {
  return _heap;
}

- (NSUInteger)length {
  return _memory.size;
}

- (NSUInteger)allocatedSize {
  return _memory.size;
}

- (MTLGPUAddress)gpuAddress {
  return reinterpret_cast<MTLGPUAddress>(_memory.begin);
}

- (void*)contents {
  if (self.storageMode != MTLStorageModePrivate) return _memory.begin;
  report_validation("contents of a private buffer: expected shared storage");
  return nullptr;
}

- (MTLStorageMode)storageMode {
  return storage_of(_options);
}

- (MTLCPUCacheMode)cpuCacheMode {
  return static_cast<MTLCPUCacheMode>(static_cast<NSUInteger>(_options) & 15);
}

- (MTLResourceOptions)resourceOptions {
  return _options;
}

- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
  if (state == MTLPurgeableStateEmpty && _owned) std::memset(_memory.begin, msl::kPoison, _memory.size);
  return MTLPurgeableStateNonVolatile;
}

- (void)makeAliasable {
  if (_heap) [_heap freeRange:NSMakeRange(_heapOffset, _memory.size)];
}

- (BOOL)isAliasable {
  return NO;
}

@end

@implementation MTLSimHeap {
  id<MTLDevice> _device;
  msl::GuardedMemory _owned;
  NSUInteger _size;
  MTLResourceOptions _options;
  MTLHazardTrackingMode _tracking;
  MTLHeapType _type;
  std::map<NSUInteger, NSUInteger> _used;  ///< offset → length
}

@synthesize label = _label;
@synthesize device = _device;
@synthesize size = _size;
@synthesize type = _type;
@synthesize hazardTrackingMode = _tracking;

- (instancetype)initWithDescriptor:(MTLHeapDescriptor*)descriptor device:(id<MTLDevice>)device {
  self = [super init];
  if (state().takes_failure(kMetalSimNoBuffer)) return nil;
  if (descriptor.size == 0) {
    report_validation("newHeapWithDescriptor: size is 0");
    return nil;
  }
  _owned = msl::GuardedMemory(descriptor.size, kBufferAlignment);
  if (!_owned) return nil;
  _device = device;
  _size = descriptor.size;
  _type = descriptor.type;
  _options = descriptor.resourceOptions;
  // A heap's resources are untracked unless requested otherwise.
  _tracking = descriptor.hazardTrackingMode == MTLHazardTrackingModeDefault ? MTLHazardTrackingModeUntracked
                                                                            : descriptor.hazardTrackingMode;
  state().allocated_bytes += _size;
  return self;
}

- (void)dealloc {
  if (_owned) state().allocated_bytes -= _size;
}

- (MTLStorageMode)storageMode {
  return storage_of(_options);
}

- (NSUInteger)allocatedSize {
  return _size;
}

- (NSUInteger)currentAllocatedSize {
  return _size;
}

- (NSUInteger)usedSize {
  NSUInteger used = 0;
  for (const auto& [offset, length] : _used) used += length;
  return used;
}

- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment {
  NSUInteger best = 0, at = 0;
  auto look = [&](NSUInteger end) {
    const NSUInteger begin = (at + alignment - 1) / alignment * alignment;
    if (end > begin) best = std::max(best, end - begin);
  };
  for (const auto& [offset, length] : _used) {
    look(offset);
    at = offset + length;
  }
  look(_size);
  return best;
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  NSUInteger at = 0;
  for (const auto& [offset, used] : _used) {
    if (at + length <= offset) break;
    at = (offset + used + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  }
  return [self takeRange:NSMakeRange(at, length) options:options];
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options offset:(NSUInteger)offset {
  if (_type != MTLHeapTypePlacement || offset % kBufferAlignment != 0) {
    report_validation("newBufferWithLength:options:offset: expected a placement heap and a multiple of " + number(kBufferAlignment));
    return nil;
  }
  return [self takeRange:NSMakeRange(offset, length) options:options];
}

- (id<MTLBuffer>)takeRange:(NSRange)range options:(MTLResourceOptions)options __attribute__((ns_returns_retained)) {
  if (state().takes_failure(kMetalSimNoBuffer) || range.length == 0 || range.location + range.length > _size) return nil;
  if (storage_of(options) != self.storageMode) {
    report_validation("newBufferWithLength: the storage mode differs from the heap's");
    return nil;
  }
  _used[range.location] = range.length;
  const msl::BoundMemory memory{_owned.begin() + range.location, range.length};
  std::memset(memory.begin, msl::kPoison, memory.size);
  return [MTLSimBuffer bufferInHeap:self memory:memory offset:range.location options:options];
}

- (void)freeRange:(NSRange)range {
  auto found = _used.find(range.location);
  if (found != _used.end() && found->second == range.length) _used.erase(found);
}

@end

@implementation MTLSimResidencySet {
  id<MTLDevice> _device;
  NSMutableArray<id<MTLAllocation>>* _pending;
  // The queue's thread reads what host threads commit.
  std::mutex _mutex;
  NSArray<id<MTLAllocation>>* _committed;
}

@synthesize label = _label;
@synthesize device = _device;

- (instancetype)initWithDescriptor:(MTLResidencySetDescriptor*)descriptor device:(id<MTLDevice>)device {
  self = [super init];
  _device = device;
  _label = descriptor.label;
  _pending = [NSMutableArray array];
  _committed = [NSArray array];
  return self;
}

- (uint64_t)allocatedSize {
  uint64_t size = 0;
  for (id<MTLAllocation> allocation in [self committedAllocations]) size += allocation.allocatedSize;
  return size;
}

- (NSUInteger)allocationCount {
  return [self committedAllocations].count;
}

- (NSArray<id<MTLAllocation>>*)committedAllocations {
  const std::lock_guard lock(_mutex);
  NSArray<id<MTLAllocation>>* committed = _committed;
  return committed;
}

- (void)requestResidency {
}

- (void)endResidency {
}

- (void)addAllocation:(id<MTLAllocation>)allocation {
  if (![_pending containsObject:allocation]) [_pending addObject:allocation];
}

- (void)addAllocations:(const id<MTLAllocation> __unsafe_unretained[])allocations count:(NSUInteger)count {
  for (NSUInteger i = 0; i < count; ++i) [self addAllocation:allocations[i]];
}

- (void)removeAllocation:(id<MTLAllocation>)allocation {
  NSMutableArray* kept = [NSMutableArray array];
  for (id<MTLAllocation> held in _pending) {
    if (held != allocation) [kept addObject:held];
  }
  _pending = kept;
}

- (void)removeAllAllocations {
  [_pending removeAllObjects];
}

- (BOOL)containsAllocation:(id<MTLAllocation>)allocation {
  return [_pending containsObject:allocation];
}

- (void)commit {
  NSArray<id<MTLAllocation>>* committed = [_pending copy];
  const std::lock_guard lock(_mutex);
  _committed = committed;
}

@end
