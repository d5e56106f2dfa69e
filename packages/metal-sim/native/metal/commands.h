#pragma once

#import <Metal/Metal.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "pipeline.h"
#include "report.h"
#include "resources.h"

namespace metal_sim {

/** A dispatch with all state that was set when it was encoded. */
struct DispatchCommand {
  MTLSimPipeline* pipeline = nil;
  msl::Dispatch dispatch;
  std::vector<MTLSimBuffer*> buffers;    ///< by argument index; nil if bytes were set
  std::vector<std::vector<char>> bytes;  ///< by argument index
  std::vector<id<MTLResource>> used;     ///< through useResource
  std::vector<id<MTLHeap>> used_heaps;
  MTLSimBuffer* indirect = nil;
  NSUInteger indirect_offset = 0;
};

struct BarrierCommand {
  std::vector<id<MTLResource>> resources;  ///< empty: all buffers
};

struct CopyCommand {
  MTLSimBuffer* source = nil;  ///< nil: fill with `value`
  NSUInteger source_offset = 0;
  MTLSimBuffer* target = nil;
  NSUInteger target_offset = 0;
  NSUInteger size = 0;
  uint8_t value = 0;
};

struct FenceCommand {
  id<MTLFence> fence = nil;
  bool is_update = false;
};

struct EventCommand {
  id<MTLEvent> event = nil;
  uint64_t value = 0;
  bool is_signal = false;
};

using EncodedCommand = std::variant<DispatchCommand, BarrierCommand, CopyCommand, FenceCommand, EventCommand>;

/** The commands of one encoder; events between encoders form a separate pass. */
struct EncodedPass {
  std::string label;
  bool is_concurrent = false;
  std::vector<std::string> signposts;
  std::vector<EncodedCommand> commands;
};

}  // namespace metal_sim

@interface MTLSimEvent : NSObject <MTLSharedEvent>
- (instancetype)initWithDevice:(id<MTLDevice>)device;
- (void)waitForValue:(uint64_t)value;
@end

@interface MTLSimQueue : NSObject <MTLCommandQueue>
- (instancetype)initWithDevice:(id<MTLDevice>)device;
- (NSArray<MTLSimResidencySet*>*)residencySets;
@end

@interface MTLSimCommandBuffer : NSObject <MTLCommandBuffer>
- (instancetype)initWithQueue:(MTLSimQueue*)queue retainedReferences:(BOOL)retainedReferences options:(MTLCommandBufferErrorOption)options;
/** Records a mistake of the caller: the command buffer will end with this error. */
- (void)invalidate:(const std::string&)message;
- (void)encoderEnded:(id)encoder pass:(metal_sim::EncodedPass)pass;
/** On the queue's thread. */
- (void)execute;
@end

@interface MTLSimComputeEncoder : NSObject <MTLComputeCommandEncoder>
- (instancetype)initWithCommandBuffer:(MTLSimCommandBuffer*)commandBuffer type:(MTLDispatchType)type;
@end

@interface MTLSimBlitEncoder : NSObject <MTLBlitCommandEncoder>
- (instancetype)initWithCommandBuffer:(MTLSimCommandBuffer*)commandBuffer;
@end

/** Executes the passes of a command buffer, adds their work to `report`, and returns why it stopped. */
namespace metal_sim {

struct ExecutionFailure {
  MTLCommandBufferError code = MTLCommandBufferErrorNone;
  std::string message;
  size_t pass = 0;
};

bool execute_passes(std::vector<EncodedPass>& passes,
                    NSArray<MTLSimResidencySet*>* residency,
                    CommandBufferReport* report,
                    ExecutionFailure* failure);

}  // namespace metal_sim
