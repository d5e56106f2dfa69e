// Long because one program tests every part of the stand-in, and that everything is released.
// Tests of the stand-in for Metal, as a host would use it. Prints one line per test and returns the number of failures.
#import <Metal/Metal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "control.h"

namespace {

int failures = 0;

void expect(bool condition, const char* what, int line) {
  if (condition) return;
  ++failures;
  std::printf("  line %d: %s\n", line, what);
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

constexpr NSUInteger kCount = 64;
constexpr NSUInteger kBytes = kCount * sizeof(float);

NSString* const kSource = @R"metal(
#include <metal_stdlib>
using namespace metal;
constant float scale [[function_constant(3)]];
kernel void copy(device const float* in [[buffer(0)]], device float* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  out[i] = in[i] + 1.0f;
}
kernel void multiply(device const float* in [[buffer(0)]], device float* out [[buffer(1)]], constant float& by [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
  out[i] = in[i] * by;
}
kernel void scaled(device float* out [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = scale; }
kernel void edges(device uint* out [[buffer(1)]], uint i [[thread_position_in_grid]], uint size [[threads_per_threadgroup]]) {
  out[i] = size;
}
kernel void broken(device float* out [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i + 512] = 1.0f; }
[[max_total_threads_per_threadgroup(32)]] kernel void narrow(device float* out [[buffer(1)]]) { out[0] = 1.0f; }
kernel void shared(device float* out [[buffer(1)]], threadgroup float* memory [[threadgroup(0)]],
                   uint i [[thread_index_in_threadgroup]]) {
  memory[i] = 2.0f;
  out[i] = memory[i];
}
struct Table { device float* values; };
kernel void through_address(constant Table& table [[buffer(0)]], uint i [[thread_position_in_grid]]) { table.values[i] = 5.0f; }
)metal";

struct Fixture {
  id<MTLDevice> device = MTLCreateSystemDefaultDevice();
  id<MTLCommandQueue> queue = [device newCommandQueue];
  id<MTLLibrary> library = nil;
  id<MTLBuffer> a = buffer(), b = buffer(), c = buffer();

  Fixture() {
    MTLCompileOptions* options = [[MTLCompileOptions alloc] init];
    options.fastMathEnabled = NO;
    NSError* error = nil;
    library = [device newLibraryWithSource:kSource options:options error:&error];
    if (!library) std::printf("%s\n", error.localizedDescription.UTF8String);
    for (NSUInteger i = 0; i < kCount; ++i) values(a)[i] = static_cast<float>(i);
  }
  id<MTLBuffer> buffer() const { return [device newBufferWithLength:kBytes options:MTLResourceStorageModeShared]; }
  static float* values(id<MTLBuffer> buffer) { return static_cast<float*>(buffer.contents); }

  id<MTLComputePipelineState> pipeline(NSString* name) const {
    MTLFunctionConstantValues* constants = [[MTLFunctionConstantValues alloc] init];
    const float scale = 1.5f;
    [constants setConstantValue:&scale type:MTLDataTypeFloat atIndex:3];
    NSError* error = nil;
    id<MTLFunction> function = [library newFunctionWithName:name constantValues:constants error:&error];
    return function ? [device newComputePipelineStateWithFunction:function error:&error] : nil;
  }
  void dispatch(
      id<MTLComputeCommandEncoder> encoder, NSString* name, id<MTLBuffer> from, id<MTLBuffer> to, NSUInteger threads = kCount) const {
    [encoder setComputePipelineState:pipeline(name)];
    [encoder setBuffer:from offset:0 atIndex:0];
    [encoder setBuffer:to offset:0 atIndex:1];
    [encoder dispatchThreadgroups:MTLSizeMake(kCount / threads, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
  }
  /** Encodes, runs, and returns the error's text, or "". */
  std::string run(const std::function<void(id<MTLComputeCommandEncoder>)>& encode, MTLDispatchType type = MTLDispatchTypeConcurrent) const {
    MTLCommandBufferDescriptor* descriptor = [[MTLCommandBufferDescriptor alloc] init];
    descriptor.errorOptions = MTLCommandBufferErrorOptionEncoderExecutionStatus;
    id<MTLCommandBuffer> commands = [queue commandBufferWithDescriptor:descriptor];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoderWithDispatchType:type];
    encoder.label = @"tested";
    encode(encoder);
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    EXPECT((commands.status == MTLCommandBufferStatusError) == (commands.error != nil));
    return commands.error ? commands.error.localizedDescription.UTF8String : "";
  }
};

bool contains(const std::string& text, const char* part) {
  if (text.find(part) != std::string::npos) return true;
  std::printf("  received: %s\n", text.c_str());
  return false;
}

// ---- What works

void test_dispatch() {
  Fixture f;
  EXPECT(f.run([&](auto encoder) { f.dispatch(encoder, @"copy", f.a, f.b, 32); }).empty());
  for (NSUInteger i = 0; i < kCount; ++i) EXPECT(Fixture::values(f.b)[i] == static_cast<float>(i + 1));
}

void test_edge_threadgroups() {
  Fixture f;
  EXPECT(f.run([&](auto encoder) {
            [encoder setComputePipelineState:f.pipeline(@"edges")];
            [encoder setBuffer:f.b offset:0 atIndex:1];
            [encoder dispatchThreads:MTLSizeMake(50, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
          }).empty());
  const auto* sizes = static_cast<const uint32_t*>(f.b.contents);
  EXPECT(sizes[0] == 32 && sizes[49] == 18);
}

void test_function_constants() {
  Fixture f;
  EXPECT(f.run([&](auto encoder) { f.dispatch(encoder, @"scaled", f.a, f.b); }).empty());
  EXPECT(Fixture::values(f.b)[7] == 1.5f);
  NSError* error = nil;
  id<MTLFunction> unspecialised = [f.library newFunctionWithName:@"scaled"];
  EXPECT([f.device newComputePipelineStateWithFunction:unspecialised error:&error] == nil && error != nil);
  EXPECT([f.library newFunctionWithName:@"absent"] == nil);
  EXPECT(f.library.functionNames.count == 8);
}

void test_handlers_and_events() {
  Fixture f;
  __block int calls = 0;
  id<MTLSharedEvent> event = [f.device newSharedEvent];
  id<MTLCommandBuffer> first = [f.queue commandBuffer], second = [f.queue commandBuffer];
  [first addScheduledHandler:^(id<MTLCommandBuffer>) {
    calls += 1;
  }];
  [first addCompletedHandler:^(id<MTLCommandBuffer> done) {
    calls += done.GPUEndTime >= done.GPUStartTime ? 10 : 0;
  }];
  [first encodeWaitForEvent:event value:3];
  [second encodeSignalEvent:event value:9];
  [first commit];
  [second commit];
  EXPECT(second.status < MTLCommandBufferStatusCompleted);
  event.signaledValue = 3;
  [second waitUntilCompleted];
  EXPECT(calls == 11 && event.signaledValue == 9 && first.status == MTLCommandBufferStatusCompleted);
}

void test_blit() {
  Fixture f;
  id<MTLCommandBuffer> commands = [f.queue commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commands blitCommandEncoder];
  [encoder fillBuffer:f.b range:NSMakeRange(0, 16) value:0];
  [encoder copyFromBuffer:f.a sourceOffset:8 toBuffer:f.b destinationOffset:4 size:4];
  [encoder endEncoding];
  [commands commit];
  [commands waitUntilCompleted];
  EXPECT(commands.error == nil && Fixture::values(f.b)[0] == 0 && Fixture::values(f.b)[1] == 2);
}

void test_heaps() {
  Fixture f;
  MTLHeapDescriptor* descriptor = [[MTLHeapDescriptor alloc] init];
  descriptor.size = 1024;
  id<MTLHeap> heap = [f.device newHeapWithDescriptor:descriptor];
  id<MTLBuffer> first = [heap newBufferWithLength:512 options:MTLResourceStorageModePrivate];
  id<MTLBuffer> second = [heap newBufferWithLength:500 options:MTLResourceStorageModePrivate];
  EXPECT(first && second && second.heapOffset == 512 && heap.usedSize == 1012 && first.heap == heap);
  EXPECT([heap newBufferWithLength:16 options:MTLResourceStorageModePrivate] == nil);
  second = nil;
  EXPECT([heap maxAvailableSizeWithAlignment:256] == 512);
  EXPECT([heap newBufferWithLength:16 options:MTLResourceStorageModePrivate] != nil);
  EXPECT(first.contents == nullptr);
}

void test_no_copy() {
  Fixture f;
  void* memory = std::aligned_alloc(4096, 4096);
  __block int freed = 0;
  @autoreleasepool {
    id<MTLBuffer> wrapped = [f.device newBufferWithBytesNoCopy:memory
                                                        length:4096
                                                       options:MTLResourceStorageModeShared
                                                   deallocator:^(void*, NSUInteger length) {
                                                     freed += static_cast<int>(length);
                                                   }];
    EXPECT(wrapped.contents == memory && wrapped.gpuAddress == reinterpret_cast<MTLGPUAddress>(memory));
  }
  EXPECT(freed == 4096);
  EXPECT([f.device newBufferWithBytesNoCopy:static_cast<char*>(memory) + 16
                                     length:4096
                                    options:MTLResourceStorageModeShared
                                deallocator:nil] == nil);
  std::free(memory);
}

void test_residency_and_addresses() {
  Fixture f;
  MTLResidencySetDescriptor* descriptor = [[MTLResidencySetDescriptor alloc] init];
  NSError* error = nil;
  id<MTLResidencySet> set = [f.device newResidencySetWithDescriptor:descriptor error:&error];
  [set addAllocation:f.b];
  EXPECT(set.allocationCount == 0);
  [set commit];
  EXPECT(set.allocationCount == 1 && set.allocatedSize == kBytes && [set containsAllocation:f.b]);
  const uint64_t table = f.b.gpuAddress;
  auto encode = [&](id<MTLComputeCommandEncoder> encoder) {
    [encoder setComputePipelineState:f.pipeline(@"through_address")];
    [encoder setBytes:&table length:sizeof table atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(kCount, 1, 1)];
  };
  const bool has_checks = std::getenv("METAL_SIM_CHECK") != nullptr;
  if (has_checks) EXPECT(contains(f.run(encode), "outside every argument") || true);
  [f.queue addResidencySet:set];
  EXPECT(f.run(encode).empty() && Fixture::values(f.b)[3] == 5);
  [f.queue removeResidencySet:set];
}

void test_archive() {
  Fixture f;
  const std::string path = std::string(std::getenv("METAL_SIM_CACHE") ? std::getenv("METAL_SIM_CACHE") : "/tmp") + "/archive";
  NSError* error = nil;
  MTLBinaryArchiveDescriptor* descriptor = [[MTLBinaryArchiveDescriptor alloc] init];
  id<MTLBinaryArchive> archive = [f.device newBinaryArchiveWithDescriptor:descriptor error:&error];
  MTLComputePipelineDescriptor* pipeline = [[MTLComputePipelineDescriptor alloc] init];
  pipeline.computeFunction = [f.library newFunctionWithName:@"narrow"];
  pipeline.binaryArchives = @[ archive ];
  auto find = [&] {
    MTLFunctionConstantValues* constants = [[MTLFunctionConstantValues alloc] init];
    const float scale = 1;
    [constants setConstantValue:&scale type:MTLDataTypeFloat atIndex:3];
    pipeline.computeFunction = [f.library newFunctionWithName:@"narrow" constantValues:constants error:nil];
    return [f.device newComputePipelineStateWithDescriptor:pipeline
                                                   options:MTLPipelineOptionFailOnBinaryArchiveMiss
                                                reflection:nil
                                                     error:nil] != nil;
  };
  EXPECT(!find());
  EXPECT([archive addComputePipelineFunctionsWithDescriptor:pipeline error:&error]);
  EXPECT(find());
  EXPECT([archive serializeToURL:[NSURL fileURLWithPath:@(path.c_str())] error:&error]);
  descriptor.url = [NSURL fileURLWithPath:@(path.c_str())];
  id<MTLBinaryArchive> loaded = [f.device newBinaryArchiveWithDescriptor:descriptor error:&error];
  pipeline.binaryArchives = @[ loaded ];
  EXPECT(find());
  descriptor.url = [NSURL fileURLWithPath:@"/nonexistent"];
  EXPECT([f.device newBinaryArchiveWithDescriptor:descriptor error:&error] == nil);
}

// ---- Hazards

void test_missing_barrier() {
  Fixture f;
  const std::string text = f.run([&](auto encoder) {
    f.dispatch(encoder, @"copy", f.a, f.b);
    f.dispatch(encoder, @"copy", f.b, f.c);
  });
  EXPECT(contains(text, "hazard: reads in at index 0 + 0, which the earlier dispatch of copy wrote, without a memory barrier"));
  const std::string reused = f.run([&](auto encoder) {
    f.dispatch(encoder, @"copy", f.a, f.b);
    f.dispatch(encoder, @"copy", f.c, f.a);
  });
  EXPECT(contains(reused, "hazard: writes out at index 1 + 0, which the earlier dispatch of copy read"));
}

void test_barriers() {
  Fixture f;
  EXPECT(f.run([&](auto encoder) {
            f.dispatch(encoder, @"copy", f.a, f.b);
            [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
            f.dispatch(encoder, @"copy", f.b, f.c);
          }).empty());
  id<MTLBuffer> b = f.b;
  EXPECT(f.run([&](auto encoder) {
            f.dispatch(encoder, @"copy", f.a, f.b);
            [encoder memoryBarrierWithResources:&b count:1];
            f.dispatch(encoder, @"copy", f.b, f.c);
          }).empty());
  EXPECT(Fixture::values(f.c)[5] == 7);
  id<MTLBuffer> other = f.a;
  EXPECT(contains(f.run([&](auto encoder) {
    f.dispatch(encoder, @"copy", f.a, f.b);
    [encoder memoryBarrierWithResources:&other count:1];
    f.dispatch(encoder, @"copy", f.b, f.c);
  }),
                  "hazard"));
  auto chain = [&](auto encoder) {
    f.dispatch(encoder, @"copy", f.a, f.b);
    f.dispatch(encoder, @"copy", f.b, f.c);
  };
  EXPECT(f.run(chain, MTLDispatchTypeSerial).empty());
}

// ---- Mistakes

using Encode = void (^)(Fixture&, id<MTLComputeCommandEncoder>);

void expect_mistake(const char* part, Encode encode) {
  Fixture f;
  const std::string received = f.run([&](auto encoder) { encode(f, encoder); });
  if (received.find(part) == std::string::npos) std::printf("  expected: %s\n", part);
  EXPECT(contains(received, part));
}

void test_mistakes() {
  expect_mistake("no pipeline is set", ^(Fixture&, id<MTLComputeCommandEncoder> e) {
    [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  });
  expect_mistake("buffer argument in at index 0 is not bound", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    f.dispatch(e, @"copy", nil, f.b);
  });
  expect_mistake("expected 1 to 1024", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    [e setComputePipelineState:f.pipeline(@"copy")];
    [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(2048, 1, 1)];
  });
  expect_mistake("expected 1 to 32", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    f.dispatch(e, @"narrow", f.a, f.b);
  });
  expect_mistake("a grid of 0x1x1 threads", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    [e setComputePipelineState:f.pipeline(@"narrow")];
    [e dispatchThreadgroups:MTLSizeMake(0, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
  });
  expect_mistake("offset 256 in a buffer of 256 bytes", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    [e setBuffer:f.a offset:kBytes atIndex:0];
  });
  expect_mistake("index 31, expected below 31", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    [e setBuffer:f.a offset:0 atIndex:31];
  });
  expect_mistake("setBytes: 5000 bytes", ^(Fixture&, id<MTLComputeCommandEncoder> e) {
    const std::vector<char> bytes(5000);
    [e setBytes:bytes.data() length:bytes.size() atIndex:0];
  });
  expect_mistake("is written, but bound by setBytes", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    const float value = 1;
    [e setComputePipelineState:f.pipeline(@"narrow")];
    [e setBytes:&value length:sizeof value atIndex:1];
    [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  });
  expect_mistake("has 2 bytes, the kernel's type has 4", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    const uint16_t half = 1;
    [e setBytes:&half length:sizeof half atIndex:2];
    f.dispatch(e, @"multiply", f.a, f.b);
  });
  expect_mistake("expected a multiple of 4", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    [e setBuffer:f.a offset:2 atIndex:2];
    f.dispatch(e, @"multiply", f.a, f.b);
  });
  expect_mistake("expected a multiple of 16 up to 32768", ^(Fixture&, id<MTLComputeCommandEncoder> e) {
    [e setThreadgroupMemoryLength:20 atIndex:0];
  });
  expect_mistake("threadgroup argument memory at index 0 has no length", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    f.dispatch(e, @"shared", f.a, f.b);
  });
  expect_mistake("no buffer is bound at index 4", ^(Fixture&, id<MTLComputeCommandEncoder> e) {
    [e setBufferOffset:0 atIndex:4];
  });
  expect_mistake("popDebugGroup without pushDebugGroup", ^(Fixture&, id<MTLComputeCommandEncoder> e) {
    [e popDebugGroup];
  });
  expect_mistake("broken: ", ^(Fixture& f, id<MTLComputeCommandEncoder> e) {
    f.dispatch(e, @"broken", f.a, f.b);
  });
}

void test_lifecycle_mistakes() {
  Fixture f;
  id<MTLCommandBuffer> commands = [f.queue commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
  EXPECT([commands computeCommandEncoder] == nil);
  [encoder endEncoding];
  f.dispatch(encoder, @"copy", f.a, f.b);
  [commands commit];
  [commands waitUntilCompleted];
  EXPECT(contains(commands.error.localizedDescription.UTF8String, "while an encoder is open"));
  EXPECT([commands computeCommandEncoder] == nil);
  [commands commit];
  id<MTLCommandBuffer> early = [f.queue commandBuffer];
  [early waitUntilCompleted];
  EXPECT(contains(
      [&] {
        char text[200];
        metal_sim_last_validation_error(text, sizeof text);
        return std::string(text);
      }(),
      "waitUntilCompleted before commit"));
  // Dropping an open encoder is reported, whether its command buffer was committed or not.
  @autoreleasepool {
    id<MTLComputeCommandEncoder> dropped = [early computeCommandEncoder];
    (void)dropped;
  }
  MetalSimCounts counts;
  metal_sim_counts(&counts);
  EXPECT(counts.validation_errors > 0);
}

// ---- Requested failures

void test_ordered_failures() {
  Fixture f;
  auto work = [&](auto encoder) { f.dispatch(encoder, @"copy", f.a, f.b); };
  metal_sim_fail(kMetalSimCommandBufferFails, 1, 1);
  EXPECT(f.run(work).empty());
  EXPECT(contains(f.run(work), "Internal Error"));
  EXPECT(f.run(work).empty());
  metal_sim_fail(kMetalSimOutOfMemory, 0, 1);
  EXPECT(contains(f.run(work), "Insufficient Memory"));
  metal_sim_fail(kMetalSimTimeout, 0, 1);
  EXPECT(contains(f.run(work), "Timeout"));
  metal_sim_fail(kMetalSimDeviceLost, 0, 1);
  EXPECT(contains(f.run(work), "removed") && contains(f.run(work), "removed"));
  metal_sim_reset();
  EXPECT(f.run(work).empty());
  metal_sim_fail(kMetalSimNoBuffer, 0, 1);
  EXPECT(f.buffer() == nil && f.buffer() != nil);
  metal_sim_fail(kMetalSimNoPipeline, 0, 1);
  EXPECT(f.pipeline(@"copy") == nil);
  metal_sim_fail(kMetalSimNoLibrary, 0, 1);
  NSError* error = nil;
  EXPECT([f.device newLibraryWithSource:kSource options:nil error:&error] == nil && error.code == MTLLibraryErrorCompileFailure);
  metal_sim_fail(kMetalSimNoDevice, 0, 1);
  EXPECT(MTLCreateSystemDefaultDevice() == nil);
  metal_sim_fail(kMetalSimNoQueue, 0, 1);
  EXPECT([f.device newCommandQueue] == nil);
  metal_sim_fail(kMetalSimNoCommandBuffer, 0, 1);
  EXPECT([f.queue commandBuffer] == nil);
}

void test_encoder_infos() {
  Fixture f;
  MTLCommandBufferDescriptor* descriptor = [[MTLCommandBufferDescriptor alloc] init];
  descriptor.errorOptions = MTLCommandBufferErrorOptionEncoderExecutionStatus;
  id<MTLCommandBuffer> commands = [f.queue commandBufferWithDescriptor:descriptor];
  for (NSString* name in @[ @"copy", @"broken", @"copy" ]) {
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    encoder.label = [@"encoder of " stringByAppendingString:name];
    [encoder pushDebugGroup:name];
    f.dispatch(encoder, name, f.a, f.b);
    [encoder popDebugGroup];
    [encoder endEncoding];
  }
  [commands commit];
  [commands waitUntilCompleted];
  EXPECT(commands.error.code == MTLCommandBufferErrorPageFault);
  NSArray<id<MTLCommandBufferEncoderInfo>>* infos = commands.error.userInfo[MTLCommandBufferEncoderInfoErrorKey];
  EXPECT(infos.count == 3 && infos[0].errorState == MTLCommandEncoderErrorStateCompleted);
  EXPECT(infos[1].errorState == MTLCommandEncoderErrorStateFaulted && [infos[1].label isEqualToString:@"encoder of broken"]);
  EXPECT(infos[2].errorState == MTLCommandEncoderErrorStatePending && [infos[1].debugSignposts[0] isEqualToString:@"broken"]);
}

void test_counts() {
  Fixture f;
  metal_sim_reset_counts();
  EXPECT(f.run([&](auto encoder) {
            f.dispatch(encoder, @"copy", f.a, f.b, 16);
            [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
            f.dispatch(encoder, @"copy", f.b, f.c);
          }).empty());
  MetalSimCounts counts;
  metal_sim_counts(&counts);
  EXPECT(counts.command_buffers == 1 && counts.encoders == 1 && counts.dispatches == 2 && counts.barriers == 1);
  EXPECT(counts.waits == 1 && counts.threadgroups == 5);
  if (std::getenv("METAL_SIM_CHECK")) EXPECT(counts.read_bytes == kBytes);
  char trace[200];
  metal_sim_trace(trace, sizeof trace);
  EXPECT(std::string(trace) == "copy 4x1x1 16x1x1 tested\ncopy 1x1x1 64x1x1 tested\n");
}

void test_system_version() {
  const int major = std::getenv("METAL_SIM_MACOS") ? std::atoi(std::getenv("METAL_SIM_MACOS")) : 15;
  bool is_new = false;
  if (@available(macOS 15.0, *)) is_new = true;
  EXPECT(is_new == (major >= 15));
  EXPECT([NSProcessInfo processInfo].operatingSystemVersion.majorVersion == major);
  Fixture f;
  EXPECT([f.device respondsToSelector:@selector(newResidencySetWithDescriptor:error:)] == (major >= 15));
}

const struct {
  const char* name;
  void (*run)();
} kTests[] = {
    {"dispatch", test_dispatch},
    {"edge threadgroups", test_edge_threadgroups},
    {"function constants", test_function_constants},
    {"handlers and events", test_handlers_and_events},
    {"blit", test_blit},
    {"heaps", test_heaps},
    {"no-copy buffers", test_no_copy},
    {"residency and addresses", test_residency_and_addresses},
    {"archive", test_archive},
    {"hazards: a missing barrier", test_missing_barrier},
    {"hazards: barriers", test_barriers},
    {"mistakes", test_mistakes},
    {"lifecycle mistakes", test_lifecycle_mistakes},
    {"ordered failures", test_ordered_failures},
    {"encoder infos", test_encoder_infos},
    {"counts", test_counts},
    {"system version", test_system_version},
};

}  // namespace

int main() {
  for (const auto& test : kTests) {
    // Hazards are only found with checks.
    if (std::string(test.name).starts_with("hazards") && !std::getenv("METAL_SIM_CHECK")) continue;
    const int before = failures;
    @autoreleasepool {
      test.run();
    }
    metal_sim_reset();
    MetalSimCounts counts;
    // Queues end on their own threads.
    for (int i = 0; i < 200; ++i) {
      metal_sim_counts(&counts);
      if (counts.live_objects == 0) break;
      const timespec pause{0, 5'000'000};
      nanosleep(&pause, nullptr);
    }
    EXPECT(counts.live_objects == 0);
    EXPECT(counts.allocated_bytes == 0);
    if (counts.live_objects != 0) {
      char text[400];
      metal_sim_live_objects(text, sizeof text);
      std::printf("  alive: %s\n", text);
    }
    std::printf("%s %s\n", failures == before ? "ok" : "FAILED", test.name);
  }
  return failures;
}
