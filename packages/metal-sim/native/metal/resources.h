#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <set>

#include "../msl/dispatch.h"
#include "../msl/guarded_memory.h"

/** Memory of the simulated device. */
@interface MTLSimBuffer : NSObject <MTLBuffer>
@property(nonatomic, readonly) msl::BoundMemory memory;
/** Fresh memory that ends at a guard page; nil if memory is exhausted. */
+ (MTLSimBuffer*)bufferWithLength:(NSUInteger)length
                          options:(MTLResourceOptions)options
                           device:(id<MTLDevice>)device __attribute__((ns_returns_retained));
+ (MTLSimBuffer*)bufferWithPointer:(void*)pointer
                            length:(NSUInteger)length
                           options:(MTLResourceOptions)options
                       deallocator:(void (^)(void*, NSUInteger))deallocator
                            device:(id<MTLDevice>)device __attribute__((ns_returns_retained));
@end

@interface MTLSimHeap : NSObject <MTLHeap>
- (instancetype)initWithDescriptor:(MTLHeapDescriptor*)descriptor device:(id<MTLDevice>)device;
@end

@interface MTLSimResidencySet : NSObject <MTLResidencySet>
- (instancetype)initWithDescriptor:(MTLResidencySetDescriptor*)descriptor device:(id<MTLDevice>)device;
/** Allocations as of the last commit. */
- (NSArray<id<MTLAllocation>>*)committedAllocations;
@end
