// A whole host: compiles sum.metal from its source, runs it on 1,000 elements and prints the sum of each threadgroup.
#import <Metal/Metal.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  @autoreleasepool {
    std::ifstream file(arguments[1]);
    const std::string source{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};

    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    NSError* error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:@(source.c_str()) options:nil error:&error];
    id<MTLFunction> function = [library newFunctionWithName:@"add_and_sum"];
    id<MTLComputePipelineState> pipeline = function ? [device newComputePipelineStateWithFunction:function error:&error] : nil;
    if (!pipeline) {
      std::fprintf(stderr, "%s\n", error.localizedDescription.UTF8String);
      return 1;
    }

    const uint32_t elements = 1000;
    const NSUInteger threads = 256, groups = (elements + threads - 1) / threads;
    id<MTLBuffer> x = [device newBufferWithLength:elements * sizeof(float) options:MTLResourceStorageModeShared];
    id<MTLBuffer> y = [device newBufferWithLength:elements * sizeof(float) options:MTLResourceStorageModeShared];
    id<MTLBuffer> sums = [device newBufferWithLength:groups * sizeof(float) options:MTLResourceStorageModeShared];
    for (uint32_t i = 0; i < elements; ++i) {
      static_cast<float*>(x.contents)[i] = static_cast<float>(i);
      static_cast<float*>(y.contents)[i] = 1.0f;
    }

    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    [commands addCompletedHandler:^(id<MTLCommandBuffer> done) {
      const auto* values = static_cast<const float*>(sums.contents);
      if (done.error) std::fprintf(stderr, "%s\n", done.error.localizedDescription.UTF8String);
      else std::printf("%g %g %g %g\n", values[0], values[1], values[2], values[3]);
    }];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    encoder.label = @"sample";
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:x offset:0 atIndex:0];
    [encoder setBuffer:y offset:0 atIndex:1];
    [encoder setBuffer:sums offset:0 atIndex:2];
    [encoder setBytes:&elements length:sizeof elements atIndex:3];
    [encoder dispatchThreadgroups:MTLSizeMake(groups, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    return commands.status == MTLCommandBufferStatusCompleted ? 0 : 1;
  }
}
