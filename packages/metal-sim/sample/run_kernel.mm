// Runs one kernel: `run_kernel file.metal kernel groups threads elements [fast]`. Buffer 0 holds 0, 1, 2, ...; buffer 1 has the same number
// of elements for the output, which is printed; argument 2 is that number; threadgroup argument 0 has 256 bytes. Prints "error: ..." and
// returns 1 on failure.
#import <Metal/Metal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

int fail(NSError* error) {
  std::printf("error: %s\n", error.localizedDescription.UTF8String);
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) return 2;
  @autoreleasepool {
    std::ifstream file(arguments[1]);
    const std::string source{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto groups = std::strtoul(arguments[3], nullptr, 10), threads = std::strtoul(arguments[4], nullptr, 10);
    const auto elements = static_cast<uint32_t>(std::strtoul(arguments[5], nullptr, 10));
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    MTLCompileOptions* options = [[MTLCompileOptions alloc] init];
    const bool is_fast = count > 6 && std::strcmp(arguments[6], "fast") == 0;
    options.mathMode = is_fast ? MTLMathModeFast : MTLMathModeSafe;
    if (source.find("<metal_tensor>") != std::string::npos) options.languageVersion = MTLLanguageVersion4_0;
    NSError* error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:@(source.c_str()) options:options error:&error];
    if (!library) return fail(error);
    MTLFunctionConstantValues* constants = [[MTLFunctionConstantValues alloc] init];
    const int32_t three = 3;
    [constants setConstantValue:&three type:MTLDataTypeInt atIndex:0];
    id<MTLFunction> function = [library newFunctionWithName:@(arguments[2]) constantValues:constants error:&error];
    if (!function) return fail(error);
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    if (!pipeline) return fail(error);
    const NSUInteger bytes = elements * sizeof(float);
    id<MTLBuffer> input = [device newBufferWithLength:bytes options:MTLResourceStorageModeShared];
    id<MTLBuffer> output = [device newBufferWithLength:bytes options:MTLResourceStorageModeShared];
    for (uint32_t i = 0; i < elements; ++i) static_cast<float*>(input.contents)[i] = static_cast<float>(i);
    id<MTLCommandBuffer> commands = [[device newCommandQueue] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:input offset:0 atIndex:0];
    [encoder setBuffer:output offset:0 atIndex:1];
    [encoder setBytes:&elements length:sizeof elements atIndex:2];
    [encoder setThreadgroupMemoryLength:256 atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake(groups, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    if (commands.error) return fail(commands.error);
    for (uint32_t i = 0; i < elements; ++i) std::printf("%g ", static_cast<double>(static_cast<float*>(output.contents)[i]));
    std::printf("\n");
    return 0;
  }
}
