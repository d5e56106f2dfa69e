#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <vector>

#include "../msl/dispatch.h"
#include "../msl/library.h"

@interface MTLFunctionConstantValues ()
@property(nonatomic, readonly) std::vector<msl::ConstantValue> values;
@property(nonatomic, readonly) std::vector<std::pair<std::string, msl::ConstantValue>> namedValues;
@end

@interface MTLSimLibrary : NSObject <MTLLibrary>
- (instancetype)initWithLibrary:(std::shared_ptr<msl::Library>)library device:(id<MTLDevice>)device;
@end

@interface MTLSimFunction : NSObject <MTLFunction>
@property(nonatomic, readonly) std::shared_ptr<msl::Library> library;
@property(nonatomic, readonly) const msl::KernelRecord* kernel;
@property(nonatomic, readonly) std::vector<msl::ConstantValue> constants;
@end

@interface MTLSimPipeline : NSObject <MTLComputePipelineState>
@property(nonatomic, readonly) MTLSimFunction* function;
- (instancetype)initWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                            device:(id<MTLDevice>)device
                             error:(NSError* __autoreleasing*)error;
@end

@interface MTLSimArchive : NSObject <MTLBinaryArchive>
- (instancetype)initWithDescriptor:(MTLBinaryArchiveDescriptor*)descriptor
                            device:(id<MTLDevice>)device
                             error:(NSError* __autoreleasing*)error;
- (BOOL)containsFunction:(MTLSimFunction*)function;
@end

/** Sets *error if `error` is not null. */
void metal_sim_set_error(NSError* __autoreleasing* error, NSErrorDomain domain, NSInteger code, const std::string& message);
