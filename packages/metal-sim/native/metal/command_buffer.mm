// Command buffers, their queue and its thread, events.
#include <time.h>

#include "commands.h"
#include "state.h"

using metal_sim::state;

NSErrorDomain const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";
NSErrorUserInfoKey const MTLCommandBufferEncoderInfoErrorKey = @"MTLCommandBufferEncoderInfoErrorKey";

namespace {

CFTimeInterval now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

NSString* string_of(const std::string& text) { return [NSString stringWithUTF8String:text.c_str()]; }

}  // namespace

@interface MTLSimEncoderInfo : NSObject <MTLCommandBufferEncoderInfo>
@property(nonatomic) NSString* label;
@property(nonatomic) NSArray<NSString*>* debugSignposts;
@property(nonatomic) MTLCommandEncoderErrorState errorState;
@end

@implementation MTLSimEncoderInfo
@end

@implementation MTLCommandBufferDescriptor

- (instancetype)init {
  self = [super init];
  _retainedReferences = YES;
  return self;
}

@end

@implementation MTLSimEvent {
  id<MTLDevice> _device;
  std::mutex _mutex;
  std::condition_variable _changed;
  uint64_t _value;
}

@synthesize label = _label;
@synthesize device = _device;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  self = [super init];
  _device = device;
  return self;
}

- (uint64_t)signaledValue {
  std::lock_guard lock(_mutex);
  return _value;
}

- (void)setSignaledValue:(uint64_t)value {
  {
    std::lock_guard lock(_mutex);
    _value = value;
  }
  _changed.notify_all();
}

- (void)waitForValue:(uint64_t)value {
  std::unique_lock lock(_mutex);
  _changed.wait(lock, [&] { return _value >= value; });
}

@end

namespace {

/** Runs command buffers one at a time. Shared by the queue and its thread, so that either may be destroyed first. */
struct QueueWorker {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<MTLSimCommandBuffer*> waiting;
  bool is_closed = false;

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return is_closed || !waiting.empty(); });
      if (waiting.empty()) return;
      MTLSimCommandBuffer* next = waiting.front();
      waiting.pop_front();
      lock.unlock();
      @autoreleasepool {
        [next execute];
        next = nil;
      }
      lock.lock();
    }
  }
};

}  // namespace

@interface MTLSimQueue ()
- (void)submit:(MTLSimCommandBuffer*)commandBuffer;
@end

@implementation MTLSimQueue {
  id<MTLDevice> _device;
  std::shared_ptr<QueueWorker> _worker;
  std::thread _thread;
  std::mutex _mutex;
  NSMutableArray<MTLSimResidencySet*>* _residency;
}

@synthesize label = _label;
@synthesize device = _device;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  self = [super init];
  _device = device;
  _residency = [NSMutableArray array];
  _worker = std::make_shared<QueueWorker>();
  _thread = std::thread([worker = _worker] { worker->run(); });
  return self;
}

- (void)dealloc {
  {
    std::lock_guard lock(_worker->mutex);
    _worker->is_closed = true;
  }
  _worker->changed.notify_all();
  // The last reference may be held by the thread itself.
  if (_thread.get_id() == std::this_thread::get_id()) _thread.detach();
  else _thread.join();
}

- (id<MTLCommandBuffer>)commandBuffer {
  return [self commandBufferWithDescriptor:[[MTLCommandBufferDescriptor alloc] init]];
}

- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
  MTLCommandBufferDescriptor* descriptor = [[MTLCommandBufferDescriptor alloc] init];
  descriptor.retainedReferences = NO;
  return [self commandBufferWithDescriptor:descriptor];
}

- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor*)descriptor {
  if (state().takes_failure(kMetalSimNoCommandBuffer)) return nil;
  state().command_buffers += 1;
  return [[MTLSimCommandBuffer alloc] initWithQueue:self retainedReferences:descriptor.retainedReferences options:descriptor.errorOptions];
}

- (void)addResidencySet:(id<MTLResidencySet>)residencySet {
  const std::lock_guard lock(_mutex);
  [_residency addObject:(MTLSimResidencySet*)residencySet];
}

- (void)removeResidencySet:(id<MTLResidencySet>)residencySet {
  const std::lock_guard lock(_mutex);
  NSMutableArray* kept = [NSMutableArray array];
  for (id held in _residency) {
    if (held != residencySet) [kept addObject:held];
  }
  _residency = kept;
}

- (NSArray<MTLSimResidencySet*>*)residencySets {
  const std::lock_guard lock(_mutex);
  NSArray<MTLSimResidencySet*>* sets = [_residency copy];
  return sets;
}

- (void)submit:(MTLSimCommandBuffer*)commandBuffer {
  {
    std::lock_guard lock(_worker->mutex);
    _worker->waiting.push_back(commandBuffer);
  }
  _worker->changed.notify_all();
}

@end

@implementation MTLSimCommandBuffer {
  MTLSimQueue* _queue;
  BOOL _retainedReferences;
  MTLCommandBufferErrorOption _errorOptions;
  std::mutex _mutex;
  std::condition_variable _changed;
  MTLCommandBufferStatus _status;
  std::atomic<unsigned> _waits;  ///< threads in waitUntilCompleted
  bool _isOver;                  ///< its completed handlers have also run
  NSError* _error;
  __weak id _openEncoder;
  bool _isEncoding;
  std::string _mistake;
  std::vector<metal_sim::EncodedPass> _passes;
  std::vector<MTLCommandBufferHandler> _scheduled;
  std::vector<MTLCommandBufferHandler> _completed;
  NSMutableArray<MTLSimResidencySet*>* _residency;
  CFTimeInterval _start;
  CFTimeInterval _end;
}

@synthesize label = _label;

@synthesize retainedReferences = _retainedReferences;
@synthesize errorOptions = _errorOptions;
@synthesize GPUStartTime = _start;
@synthesize GPUEndTime = _end;

- (instancetype)initWithQueue:(MTLSimQueue*)queue retainedReferences:(BOOL)retainedReferences options:(MTLCommandBufferErrorOption)options {
  self = [super init];
  _queue = queue;
  _retainedReferences = retainedReferences;
  _errorOptions = options;
  _residency = [NSMutableArray array];
  return self;
}

- (id<MTLDevice>)device {
  return _queue.device;
}

- (id<MTLCommandQueue>)commandQueue {
  return _queue;
}

- (CFTimeInterval)kernelStartTime {
  return _start;
}

- (CFTimeInterval)kernelEndTime {
  return _end;
}

- (MTLCommandBufferStatus)status {
  std::lock_guard lock(_mutex);
  return _status;
}

- (NSError*)error {
  std::lock_guard lock(_mutex);
  return _error;
}

- (void)invalidate:(const std::string&)message {
  metal_sim::report_validation(message);
  std::lock_guard lock(_mutex);
  if (_mistake.empty()) _mistake = message;
}

- (bool)canEncode:(const char*)method {
  MTLCommandBufferStatus status = self.status;
  if (status > MTLCommandBufferStatusEnqueued) {
    [self invalidate:std::string(method) + " after commit"];
    return false;
  }
  if (_isEncoding) {
    [self invalidate:std::string(method) + " while an encoder is open"];
    return false;
  }
  return true;
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return [self computeCommandEncoderWithDispatchType:MTLDispatchTypeSerial];
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)dispatchType {
  if (![self canEncode:"computeCommandEncoder"]) return nil;
  MTLSimComputeEncoder* encoder = [[MTLSimComputeEncoder alloc] initWithCommandBuffer:self type:dispatchType];
  _isEncoding = true;
  state().encoders += 1;
  return encoder;
}

- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  if (![self canEncode:"blitCommandEncoder"]) return nil;
  _isEncoding = true;
  state().encoders += 1;
  return [[MTLSimBlitEncoder alloc] initWithCommandBuffer:self];
}

- (void)encoderEnded:(id)encoder pass:(metal_sim::EncodedPass)pass {
  (void)encoder;
  _isEncoding = false;
  _passes.push_back(std::move(pass));
}

- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
  if (![self canEncode:"encodeSignalEvent"]) return;
  metal_sim::EncodedPass pass;
  pass.commands.push_back(metal_sim::EventCommand{event, value, true});
  _passes.push_back(std::move(pass));
}

- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
  if (![self canEncode:"encodeWaitForEvent"]) return;
  metal_sim::EncodedPass pass;
  pass.commands.push_back(metal_sim::EventCommand{event, value, false});
  _passes.push_back(std::move(pass));
}

- (void)useResidencySet:(id<MTLResidencySet>)residencySet {
  [_residency addObject:(MTLSimResidencySet*)residencySet];
}

- (void)pushDebugGroup:(NSString*)string {
  (void)string;
}

- (void)popDebugGroup {
}

- (void)enqueue {
  std::lock_guard lock(_mutex);
  if (_status == MTLCommandBufferStatusNotEnqueued) _status = MTLCommandBufferStatusEnqueued;
}

- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
  if (self.status > MTLCommandBufferStatusEnqueued) return [self invalidate:"addScheduledHandler after commit"];
  _scheduled.push_back(block);
}

- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
  if (self.status > MTLCommandBufferStatusEnqueued) return [self invalidate:"addCompletedHandler after commit"];
  _completed.push_back(block);
}

- (void)commit {
  if (![self canEncode:"commit"]) {
    // Committing with an open encoder is a mistake, but threads that wait for the command buffer must still wake up.
    if (self.status > MTLCommandBufferStatusEnqueued) return;
  }
  [self setStatus:MTLCommandBufferStatusCommitted];
  [_queue submit:self];
}

- (void)setStatus:(MTLCommandBufferStatus)status {
  {
    std::lock_guard lock(_mutex);
    _status = status;
  }
  _changed.notify_all();
}

- (void)waitUntilScheduled {
  std::unique_lock lock(_mutex);
  _changed.wait(lock, [&] { return _status >= MTLCommandBufferStatusScheduled; });
}

- (void)waitUntilCompleted {
  if (self.status < MTLCommandBufferStatusCommitted) return [self invalidate:"waitUntilCompleted before commit"];
  state().waits += 1;
  _waits += 1;
  std::unique_lock lock(_mutex);
  _changed.wait(lock, [&] { return _isOver; });
}

- (void)execute {
  [self setStatus:MTLCommandBufferStatusScheduled];
  for (MTLCommandBufferHandler handler : _scheduled) handler(self);
  _start = now();
  metal_sim::CommandBufferReport report;
  report.label = _label ? _label.UTF8String : "";
  report.encoders = static_cast<unsigned>(_passes.size());
  metal_sim::ExecutionFailure failure;
  if ([self startsWell:&failure]) {
    NSMutableArray<MTLSimResidencySet*>* residency = [NSMutableArray array];
    for (MTLSimResidencySet* set in [_queue residencySets]) [residency addObject:set];
    for (MTLSimResidencySet* set in _residency) [residency addObject:set];
    metal_sim::execute_passes(_passes, residency, &report, &failure);
  }
  _end = now();
  report.waits = _waits + (_completed.empty() ? 0 : 1);
  metal_sim::write_report(report);
  [self finishWith:failure];
}

/** False if this command buffer is already known to fail. */
- (bool)startsWell:(metal_sim::ExecutionFailure*)failure {
  const struct {
    MetalSimFailure kind;
    MTLCommandBufferError code;
    const char* message;
  } orders[] = {
      {kMetalSimCommandBufferFails, MTLCommandBufferErrorInternal, "Internal Error (simulated)"},
      {kMetalSimTimeout, MTLCommandBufferErrorTimeout, "Caused GPU Timeout Error (simulated)"},
      {kMetalSimOutOfMemory, MTLCommandBufferErrorOutOfMemory, "Insufficient Memory (simulated)"},
      {kMetalSimDeviceLost, MTLCommandBufferErrorDeviceRemoved, "The device was removed (simulated)"},
  };
  if (!_mistake.empty()) *failure = {MTLCommandBufferErrorInvalidResource, _mistake};
  for (const auto& order : orders) {
    if (!state().takes_failure(order.kind)) continue;
    *failure = {order.code, order.message};
    if (order.kind == kMetalSimDeviceLost) state().is_lost = true;
  }
  if (state().is_lost) *failure = {MTLCommandBufferErrorDeviceRemoved, "The device was removed (simulated)"};
  return failure->code == MTLCommandBufferErrorNone;
}

- (void)finishWith:(const metal_sim::ExecutionFailure&)failure {
  const bool has_failed = failure.code != MTLCommandBufferErrorNone;
  if (has_failed) {
    NSMutableDictionary* info = [[NSMutableDictionary alloc] init];
    info[NSLocalizedDescriptionKey] = string_of(failure.message);
    if (_errorOptions & MTLCommandBufferErrorOptionEncoderExecutionStatus) {
      info[MTLCommandBufferEncoderInfoErrorKey] = [self encoderInfosOf:failure.pass];
    }
    NSError* error = [NSError errorWithDomain:MTLCommandBufferErrorDomain code:static_cast<NSInteger>(failure.code) userInfo:info];
    std::lock_guard lock(_mutex);
    _error = error;
  }
  // Resources of the commands are released before the end is reported, because handlers may release objects.
  _passes.clear();
  [_residency removeAllObjects];
  std::vector<MTLCommandBufferHandler> handlers = std::move(_completed);
  _completed.clear();
  _scheduled.clear();
  [self setStatus:has_failed ? MTLCommandBufferStatusError : MTLCommandBufferStatusCompleted];
  if (!handlers.empty()) state().waits += 1;
  for (MTLCommandBufferHandler handler : handlers) handler(self);
  // As in Metal, waiting threads continue after the handlers.
  {
    std::lock_guard lock(_mutex);
    _isOver = true;
  }
  _changed.notify_all();
}

- (NSArray*)encoderInfosOf:(size_t)faulted {
  NSMutableArray* infos = [NSMutableArray array];
  for (size_t i = 0; i < _passes.size(); ++i) {
    MTLSimEncoderInfo* info = [[MTLSimEncoderInfo alloc] init];
    info.label = string_of(_passes[i].label);
    NSMutableArray<NSString*>* signposts = [NSMutableArray array];
    for (const std::string& text : _passes[i].signposts) [signposts addObject:string_of(text)];
    info.debugSignposts = [signposts copy];
    info.errorState = i < faulted    ? MTLCommandEncoderErrorStateCompleted
                      : i == faulted ? MTLCommandEncoderErrorStateFaulted
                                     : MTLCommandEncoderErrorStatePending;
    [infos addObject:info];
  }
  return infos;
}

@end
