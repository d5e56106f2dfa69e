// The simulated device, and the functions that find it.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "../foundation/system_version.h"
#include "../objc/runtime.h"
#include "commands.h"
#include "state.h"

using metal_sim::report_validation;
using metal_sim::state;

@implementation MTLHeapDescriptor

- (MTLResourceOptions)resourceOptions {
  return static_cast<MTLResourceOptions>(static_cast<NSUInteger>(_cpuCacheMode) | static_cast<NSUInteger>(_storageMode) << 4 |
                                         static_cast<NSUInteger>(_hazardTrackingMode) << 8);
}

- (void)setResourceOptions:(MTLResourceOptions)options {
  const auto bits = static_cast<NSUInteger>(options);
  _cpuCacheMode = static_cast<MTLCPUCacheMode>(bits & 15);
  _storageMode = static_cast<MTLStorageMode>(bits >> 4 & 15);
  _hazardTrackingMode = static_cast<MTLHazardTrackingMode>(bits >> 8 & 3);
}

- (instancetype)init {
  self = [super init];
  _storageMode = MTLStorageModePrivate;
  return self;
}

@end

@implementation MTLResidencySetDescriptor
@end

@interface MTLSimFence : NSObject <MTLFence>
@property(nonatomic) id<MTLDevice> device;
@end

@implementation MTLSimFence
@synthesize label = _label;
@end

@interface MTLSimDevice : NSObject <MTLDevice>
@end

@implementation MTLSimDevice

- (NSString*)name {
  return @"metal-sim (kernels run on the CPU)";
}

- (uint64_t)registryID {
  return 1;
}

- (MTLSize)maxThreadsPerThreadgroup {
  return MTLSizeMake(msl::kMaxThreadsPerGroup, msl::kMaxThreadsPerGroup, msl::kMaxThreadsPerGroup);
}

- (BOOL)isLowPower {
  return NO;
}

- (BOOL)hasUnifiedMemory {
  return YES;
}

- (uint64_t)recommendedMaxWorkingSetSize {
  const auto memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return memory / 4 * 3;
}

- (NSUInteger)maxBufferLength {
  return self.recommendedMaxWorkingSetSize;
}

- (NSUInteger)maxThreadgroupMemoryLength {
  return msl::kMaxThreadgroupBytes;
}

- (NSUInteger)currentAllocatedSize {
  return state().allocated_bytes;
}

- (BOOL)supportsFamily:(MTLGPUFamily)family {
  if (state().takes_failure(kMetalSimOldGpu)) return NO;
  // With macOS 26, it simulates a GPU with matrix units for tensors.
  const bool is_new = family == MTLGPUFamilyApple9 || family == MTLGPUFamilyApple10 || family == MTLGPUFamilyMetal4;
  if (is_new && metal_sim::system_version() >= 26) return YES;
  return (family >= MTLGPUFamilyApple1 && family <= MTLGPUFamilyApple8) || family == MTLGPUFamilyMac2 || family == MTLGPUFamilyCommon3 ||
         family == MTLGPUFamilyMetal3;
}

- (BOOL)respondsToSelector:(SEL)selector {
  const auto* asked = reinterpret_cast<const objc::Selector*>(selector);
  static const char* residency = objc::unique_name("newResidencySetWithDescriptor:error:");
  if (metal_sim::system_version() < 15 && asked->name == residency) return NO;
  return [super respondsToSelector:selector];
}

- (id<MTLCommandQueue>)newCommandQueue {
  if (state().takes_failure(kMetalSimNoQueue)) return nil;
  return [[MTLSimQueue alloc] initWithDevice:self];
}

- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count {
  if (count == 0) report_validation("newCommandQueueWithMaxCommandBufferCount: 0");
  return [self newCommandQueue];
}

- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  (void)options;
  constexpr NSUInteger alignment = 256;
  return {(length + alignment - 1) / alignment * alignment, alignment};
}

- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor*)descriptor {
  return [[MTLSimHeap alloc] initWithDescriptor:descriptor device:self];
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  return [MTLSimBuffer bufferWithLength:length options:options device:self];
}

- (id<MTLBuffer>)newBufferWithBytes:(const void*)pointer length:(NSUInteger)length options:(MTLResourceOptions)options {
  MTLSimBuffer* buffer = [MTLSimBuffer bufferWithLength:length options:options device:self];
  if (buffer) std::memcpy(buffer.memory.begin, pointer, length);
  return buffer;
}

- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void*, NSUInteger))deallocator {
  return [MTLSimBuffer bufferWithPointer:pointer length:length options:options deallocator:deallocator device:self];
}

- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError* __autoreleasing*)error {
  if (state().takes_failure(kMetalSimNoLibrary)) {
    metal_sim_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, "program_source:1:1: error: simulated");
    return nil;
  }
  MTLCompileOptions* asked = options ? options : [[MTLCompileOptions alloc] init];
  msl::CompileOptions compile = msl::compile_options_from_environment();
  // Either option disables fast mathematics; before macOS 15, only the older one exists.
  compile.has_fast_math = asked.fastMathEnabled && asked.mathMode == MTLMathModeFast;
  if (const char* forced = std::getenv("METAL_SIM_FAST_MATH")) compile.has_fast_math |= std::strcmp(forced, "1") == 0;
  const auto language = static_cast<NSUInteger>(asked.languageVersion);
  compile.language = static_cast<unsigned>((language >> 16) * 100 + (language & 0xffff) * 10);
  if (compile.language >= 400 && metal_sim::system_version() < 26) {
    metal_sim_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, "Metal 4.0 needs macOS 26");
    return nil;
  }
  for (NSString* name in asked.preprocessorMacros.allKeys) {
    compile.macros.push_back({name.UTF8String, asked.preprocessorMacros[name].description.UTF8String});
  }
  std::string message;
  auto library = msl::Library::compile(source.UTF8String, compile, &message);
  if (!library) {
    metal_sim_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, message);
    return nil;
  }
  state().libraries += 1;
  return [[MTLSimLibrary alloc] initWithLibrary:library device:self];
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError* __autoreleasing*)error {
  MTLComputePipelineDescriptor* descriptor = [[MTLComputePipelineDescriptor alloc] init];
  descriptor.computeFunction = function;
  return [[MTLSimPipeline alloc] initWithDescriptor:descriptor device:self error:error];
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                                             options:(MTLPipelineOption)options
                                                          reflection:(MTLComputePipelineReflection* __autoreleasing*)reflection
                                                               error:(NSError* __autoreleasing*)error {
  if (reflection) *reflection = nil;
  if (options & MTLPipelineOptionFailOnBinaryArchiveMiss) {
    bool is_found = false;
    for (id<MTLBinaryArchive> archive in descriptor.binaryArchives) {
      is_found = is_found || [(MTLSimArchive*)archive containsFunction:(MTLSimFunction*)descriptor.computeFunction];
    }
    if (!is_found) {
      metal_sim_set_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorUnexpectedElement, "the pipeline is in none of the archives");
      return nil;
    }
  }
  return [[MTLSimPipeline alloc] initWithDescriptor:descriptor device:self error:error];
}

- (id<MTLFence>)newFence {
  MTLSimFence* fence = [[MTLSimFence alloc] init];
  fence.device = self;
  return fence;
}

- (id<MTLEvent>)newEvent {
  return [[MTLSimEvent alloc] initWithDevice:self];
}

- (id<MTLSharedEvent>)newSharedEvent {
  return [[MTLSimEvent alloc] initWithDevice:self];
}

- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor*)descriptor error:(NSError* __autoreleasing*)error {
  return [[MTLSimArchive alloc] initWithDescriptor:descriptor device:self error:error];
}

- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor*)descriptor error:(NSError* __autoreleasing*)error {
  (void)error;
  return [[MTLSimResidencySet alloc] initWithDescriptor:descriptor device:self];
}

@end

id<MTLDevice> MTLCreateSystemDefaultDevice() {
  if (state().takes_failure(kMetalSimNoDevice)) return nil;
  return [[MTLSimDevice alloc] init];
}

NSArray<id<MTLDevice>>* MTLCopyAllDevices() {
  id<MTLDevice> device = MTLCreateSystemDefaultDevice();
  return device ? @[ device ] : @[];
}
