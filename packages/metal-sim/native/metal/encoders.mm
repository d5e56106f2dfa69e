// Encoders: they check every call like Metal's API validation, and record commands.
#include <cstring>

#include "commands.h"
#include "state.h"

using metal_sim::state;

namespace {

constexpr NSUInteger kMaxSetBytes = 4096;

std::string number(NSUInteger value) { return std::to_string(value); }

std::string dimensions(MTLSize size) { return number(size.width) + "x" + number(size.height) + "x" + number(size.depth); }

}  // namespace

@implementation MTLSimComputeEncoder {
  MTLSimCommandBuffer* _commandBuffer;
  MTLDispatchType _type;
  bool _isEnded;
  metal_sim::EncodedPass _pass;
  std::vector<std::string> _groups;
  MTLSimPipeline* _pipeline;
  MTLSimBuffer* _buffers[msl::kMaxArguments];
  NSUInteger _offsets[msl::kMaxArguments];
  std::vector<char> _bytes[msl::kMaxArguments];
  NSUInteger _threadgroupBytes[msl::kMaxArguments];
  std::vector<id<MTLResource>> _used;
  std::vector<id<MTLHeap>> _usedHeaps;
}

@synthesize label = _label;
@synthesize dispatchType = _type;

- (instancetype)initWithCommandBuffer:(MTLSimCommandBuffer*)commandBuffer type:(MTLDispatchType)type {
  self = [super init];
  _commandBuffer = commandBuffer;
  _type = type;
  _pass.is_concurrent = type == MTLDispatchTypeConcurrent;
  return self;
}

- (void)dealloc {
  if (!_isEnded) metal_sim::report_validation("a command encoder was released before endEncoding");
}

- (id<MTLDevice>)device {
  return _commandBuffer.device;
}

/** Reports a mistake; the command buffer ends with this error. */
- (void)reject:(const std::string&)message {
  std::string where = _label ? std::string(" (encoder ") + _label.UTF8String + ")" : "";
  if (_pipeline) where += std::string(" (kernel ") + _pipeline.function.kernel->name + ")";
  [_commandBuffer invalidate:message + where];
}

- (bool)isOpen:(const char*)method {
  if (!_isEnded) return true;
  [self reject:std::string(method) + " after endEncoding"];
  return false;
}

- (void)endEncoding {
  if (![self isOpen:"endEncoding"]) return;
  _isEnded = true;
  _pass.label = _label ? _label.UTF8String : "";
  [_commandBuffer encoderEnded:self pass:std::move(_pass)];
  for (MTLSimBuffer* __strong& buffer : _buffers) buffer = nil;
}

- (void)insertDebugSignpost:(NSString*)string {
  _pass.signposts.push_back(string.UTF8String);
}

- (void)pushDebugGroup:(NSString*)string {
  _groups.push_back(string.UTF8String);
  _pass.signposts.push_back(string.UTF8String);
}

- (void)popDebugGroup {
  if (_groups.empty()) return [self reject:"popDebugGroup without pushDebugGroup"];
  _groups.pop_back();
}

- (void)setComputePipelineState:(id<MTLComputePipelineState>)pipeline {
  if (![self isOpen:"setComputePipelineState"]) return;
  if (!pipeline) return [self reject:"setComputePipelineState: the pipeline is nil"];
  _pipeline = (MTLSimPipeline*)pipeline;
}

- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
  if (![self isOpen:"setBytes"]) return;
  if (length == 0 || length > kMaxSetBytes || index >= msl::kMaxArguments) {
    return [self reject:"setBytes: " + number(length) + " bytes at index " + number(index) + ", expected 1 to " + number(kMaxSetBytes) +
                        " bytes and an index below " + number(msl::kMaxArguments)];
  }
  _buffers[index] = nil;
  const auto* begin = static_cast<const char*>(bytes);
  _bytes[index].assign(begin, begin + length);
}

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  if (![self isOpen:"setBuffer"]) return;
  if (index >= msl::kMaxArguments) {
    return [self reject:"setBuffer: index " + number(index) + ", expected below " + number(msl::kMaxArguments)];
  }
  if (buffer && offset >= buffer.length) {
    return [self reject:"setBuffer: offset " + number(offset) + " in a buffer of " + number(buffer.length) + " bytes"];
  }
  if (buffer && buffer.device != self.device) return [self reject:"setBuffer: the buffer belongs to another device"];
  _buffers[index] = (MTLSimBuffer*)buffer;
  _offsets[index] = offset;
  _bytes[index].clear();
}

- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
  if (index >= msl::kMaxArguments || !_buffers[index]) {
    return [self reject:"setBufferOffset: no buffer is bound at index " + number(index)];
  }
  [self setBuffer:_buffers[index] offset:offset atIndex:index];
}

- (void)setBuffers:(const id<MTLBuffer> __unsafe_unretained[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
  for (NSUInteger i = 0; i < range.length; ++i) [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
}

- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  if (![self isOpen:"setThreadgroupMemoryLength"]) return;
  if (length % 16 != 0 || length > msl::kMaxThreadgroupBytes || index >= msl::kMaxArguments) {
    return [self reject:"setThreadgroupMemoryLength: " + number(length) + " bytes at index " + number(index) +
                        ", expected a multiple of 16 up to " + number(msl::kMaxThreadgroupBytes)];
  }
  _threadgroupBytes[index] = length;
}

- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads {
  [self encodeGrid:MTLSizeMake(groups.width * threads.width, groups.height * threads.height, groups.depth * threads.depth)
           threads:threads
          indirect:nil
            offset:0];
}

- (void)dispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)threads {
  [self encodeGrid:grid threads:threads indirect:nil offset:0];
}

- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)buffer
                          indirectBufferOffset:(NSUInteger)offset
                         threadsPerThreadgroup:(MTLSize)threads {
  if (!buffer || offset % 4 != 0 || offset + sizeof(MTLDispatchThreadgroupsIndirectArguments) > buffer.length) {
    return [self reject:"dispatchThreadgroupsWithIndirectBuffer: the arguments are outside the buffer"];
  }
  [self encodeGrid:MTLSizeMake(1, 1, 1) threads:threads indirect:(MTLSimBuffer*)buffer offset:offset];
}

- (void)encodeGrid:(MTLSize)grid threads:(MTLSize)threads indirect:(MTLSimBuffer*)indirect offset:(NSUInteger)offset {
  if (![self isOpen:"dispatch"]) return;
  if (!_pipeline) return [self reject:"dispatch: no pipeline is set"];
  const NSUInteger count = threads.width * threads.height * threads.depth;
  if (count == 0 || count > _pipeline.maxTotalThreadsPerThreadgroup) {
    return [self reject:"dispatch: " + dimensions(threads) + " threads in a threadgroup, expected 1 to " +
                        number(_pipeline.maxTotalThreadsPerThreadgroup)];
  }
  if (grid.width * grid.height * grid.depth == 0) {
    return [self reject:"dispatch: a grid of " + dimensions(grid) + " threads, expected at least one"];
  }
  metal_sim::DispatchCommand command;
  command.pipeline = _pipeline;
  command.indirect = indirect;
  command.indirect_offset = offset;
  command.used = _used;
  command.used_heaps = _usedHeaps;
  msl::Dispatch& dispatch = command.dispatch;
  dispatch.library = _pipeline.function.library;
  dispatch.kernel = _pipeline.function.kernel;
  dispatch.constants = _pipeline.function.constants;
  const NSUInteger sizes[2][3] = {{threads.width, threads.height, threads.depth}, {grid.width, grid.height, grid.depth}};
  for (int axis = 0; axis < 3; ++axis) {
    dispatch.threads_per_group[axis] = static_cast<unsigned>(sizes[0][axis]);
    dispatch.threads_per_grid[axis] = static_cast<unsigned>(sizes[1][axis]);
  }
  if (![self bindArgumentsOf:command]) return;
  _pass.commands.push_back(std::move(command));
  state().dispatches += 1;
}

/** Copies the bindings into the command; false, with a reported mistake, if the kernel needs more. */
- (bool)bindArgumentsOf:(metal_sim::DispatchCommand&)command {
  const msl::KernelRecord& kernel = *command.dispatch.kernel;
  command.buffers.resize(msl::kMaxArguments);
  command.bytes.resize(msl::kMaxArguments);
  NSUInteger threadgroup_bytes = 0;
  for (unsigned i = 0; i < kernel.parameter_count; ++i) {
    const msl::Parameter& parameter = kernel.parameters[i];
    const std::string name = std::string("argument ") + parameter.name + " at index " + number(parameter.index);
    if (parameter.kind == msl::ParameterKind::kThreadgroup) {
      if (_threadgroupBytes[parameter.index] == 0 && !parameter.is_optional) {
        [self reject:"dispatch: threadgroup " + name + " has no length"];
        return false;
      }
      command.dispatch.threadgroup_bytes[parameter.index] = _threadgroupBytes[parameter.index];
      threadgroup_bytes += _threadgroupBytes[parameter.index];
    }
    if (parameter.kind != msl::ParameterKind::kBuffer) continue;
    MTLSimBuffer* buffer = _buffers[parameter.index];
    const std::vector<char>& bytes = _bytes[parameter.index];
    if (!buffer && bytes.empty()) {
      if (parameter.is_optional) continue;
      [self reject:"dispatch: buffer " + name + " is not bound"];
      return false;
    }
    if (!buffer && parameter.is_writable) {
      [self reject:"dispatch: buffer " + name + " is written, but bound by setBytes"];
      return false;
    }
    const NSUInteger offset = buffer ? _offsets[parameter.index] : 0;
    if (buffer && parameter.is_constant_space && offset % 4 != 0) {
      [self reject:"dispatch: constant buffer " + name + " has offset " + number(offset) + ", expected a multiple of 4"];
      return false;
    }
    const NSUInteger size = buffer ? buffer.memory.size - offset : bytes.size();
    if (size < kernel.reference_bytes[i]) {
      [self reject:"dispatch: buffer " + name + " has " + number(size) + " bytes, the kernel's type has " +
                   number(kernel.reference_bytes[i])];
      return false;
    }
    command.buffers[parameter.index] = buffer;
    command.bytes[parameter.index] = bytes;
    if (buffer) command.dispatch.buffers[parameter.index] = {buffer.memory.begin + offset, size};
  }
  if (threadgroup_bytes <= msl::kMaxThreadgroupBytes) return true;
  [self reject:"dispatch: " + number(threadgroup_bytes) + " bytes of threadgroup memory, expected at most " +
               number(msl::kMaxThreadgroupBytes)];
  return false;
}

- (void)updateFence:(id<MTLFence>)fence {
  _pass.commands.push_back(metal_sim::FenceCommand{fence, true});
}

- (void)waitForFence:(id<MTLFence>)fence {
  _pass.commands.push_back(metal_sim::FenceCommand{fence, false});
}

- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
  (void)usage;
  _used.push_back(resource);
}

- (void)useResources:(const id<MTLResource> __unsafe_unretained[])resources count:(NSUInteger)count usage:(MTLResourceUsage)usage {
  for (NSUInteger i = 0; i < count; ++i) [self useResource:resources[i] usage:usage];
}

- (void)useHeap:(id<MTLHeap>)heap {
  _usedHeaps.push_back(heap);
}

- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {
  if (![self isOpen:"memoryBarrierWithScope"]) return;
  if (!(scope & MTLBarrierScopeBuffers)) return;
  state().barriers += 1;
  _pass.commands.push_back(metal_sim::BarrierCommand{});
}

- (void)memoryBarrierWithResources:(const id<MTLResource> __unsafe_unretained[])resources count:(NSUInteger)count {
  if (![self isOpen:"memoryBarrierWithResources"]) return;
  if (count == 0) return [self reject:"memoryBarrierWithResources: no resources"];
  metal_sim::BarrierCommand barrier;
  for (NSUInteger i = 0; i < count; ++i) barrier.resources.push_back(resources[i]);
  state().barriers += 1;
  _pass.commands.push_back(std::move(barrier));
}

@end

@implementation MTLSimBlitEncoder {
  MTLSimCommandBuffer* _commandBuffer;
  bool _isEnded;
  metal_sim::EncodedPass _pass;
}

@synthesize label = _label;

- (instancetype)initWithCommandBuffer:(MTLSimCommandBuffer*)commandBuffer {
  self = [super init];
  _commandBuffer = commandBuffer;
  return self;
}

- (void)dealloc {
  if (!_isEnded) metal_sim::report_validation("a command encoder was released before endEncoding");
}

- (id<MTLDevice>)device {
  return _commandBuffer.device;
}

- (void)endEncoding {
  if (_isEnded) return [_commandBuffer invalidate:"endEncoding after endEncoding"];
  _isEnded = true;
  _pass.label = _label ? _label.UTF8String : "";
  [_commandBuffer encoderEnded:self pass:std::move(_pass)];
}

- (void)insertDebugSignpost:(NSString*)string {
  _pass.signposts.push_back(string.UTF8String);
}

- (void)pushDebugGroup:(NSString*)string {
  _pass.signposts.push_back(string.UTF8String);
}

- (void)popDebugGroup {
}

- (bool)accepts:(id<MTLBuffer>)buffer range:(NSRange)range method:(const char*)method {
  if (_isEnded) {
    [_commandBuffer invalidate:std::string(method) + " after endEncoding"];
    return false;
  }
  if (buffer && range.length > 0 && range.location + range.length <= buffer.length) return true;
  [_commandBuffer invalidate:std::string(method) + ": bytes " + number(range.location) + " to " + number(range.location + range.length) +
                             " of a buffer of " + number(buffer ? buffer.length : 0)];
  return false;
}

- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)target
     destinationOffset:(NSUInteger)targetOffset
                  size:(NSUInteger)size {
  if (![self accepts:source range:NSMakeRange(sourceOffset, size) method:"copyFromBuffer"]) return;
  if (![self accepts:target range:NSMakeRange(targetOffset, size) method:"copyFromBuffer to"]) return;
  if (size % 4 != 0 || sourceOffset % 4 != 0 || targetOffset % 4 != 0) {
    return [_commandBuffer invalidate:"copyFromBuffer: offsets and size are multiples of 4 on macOS"];
  }
  _pass.commands.push_back(metal_sim::CopyCommand{.source = (MTLSimBuffer*)source,
                                                  .source_offset = sourceOffset,
                                                  .target = (MTLSimBuffer*)target,
                                                  .target_offset = targetOffset,
                                                  .size = size});
}

- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value {
  if (![self accepts:buffer range:range method:"fillBuffer"]) return;
  if (range.location % 4 != 0 || range.length % 4 != 0) {
    return [_commandBuffer invalidate:"fillBuffer: the range is a multiple of 4 on macOS"];
  }
  _pass.commands.push_back(
      metal_sim::CopyCommand{.target = (MTLSimBuffer*)buffer, .target_offset = range.location, .size = range.length, .value = value});
}

- (void)updateFence:(id<MTLFence>)fence {
  _pass.commands.push_back(metal_sim::FenceCommand{fence, true});
}

- (void)waitForFence:(id<MTLFence>)fence {
  _pass.commands.push_back(metal_sim::FenceCommand{fence, false});
}

@end
