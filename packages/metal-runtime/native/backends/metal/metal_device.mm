#include "metal_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "metal_backend.h"
#include "metal_buffer.h"
#include "metal_program.h"
#include "metal_text.h"

namespace markbase::metal {

namespace {

/** Maximum number of queued steps; more would only wait. */
constexpr NSUInteger kMostCommandBuffers = 256;

/** Metal has no empty buffers, and kernels may read whole vectors. */
size_t whole_vectors(size_t size) { return (std::max<size_t>(size, 1) + 15) / 16 * 16; }

}  // namespace

Status open_metal_device(const DeviceOptions& options, std::shared_ptr<Device>* out) {
  @autoreleasepool {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    if (!device) return Status::error(StatusCode::kDeviceUnavailable, options.kind, "this machine has no Metal GPU");
    // simdgroup_matrix, simd reductions and bfloat need Apple 7: every Apple Silicon.
    if (![device supportsFamily:MTLGPUFamilyApple7]) {
      const std::string reason = to_string(device.name) +
                                 " is not of GPU family Apple 7 or newer: use an M1 or newer Mac that is not a virtual machine";
      return Status::error(StatusCode::kDeviceUnavailable, options.kind, reason);
    }
    id<MTLCommandQueue> queue = [device newCommandQueueWithMaxCommandBufferCount:kMostCommandBuffers];
    if (!queue) return Status::error(StatusCode::kDevice, options.kind, "the GPU provides no command queue");
    queue.label = @"markbase steps";
    const std::string kind = options.kind == "auto" ? "metal" : options.kind;
    *out = std::make_shared<MetalDevice>(kind, device, queue);
    return Status::good();
  }
}

MetalDevice::MetalDevice(std::string kind, id<MTLDevice> device, id<MTLCommandQueue> queue)
    : kind_(kind),
      gate_(std::move(kind)),
      device_(device),
      queue_(queue),
      kernels_(device),
      residency_(std::make_shared<Residency>(device, queue)) {}

DeviceInfo MetalDevice::info() const {
  @autoreleasepool {
    return {kind_, to_string(device_.name), "metal", 1, [NSProcessInfo processInfo].physicalMemory};
  }
}

id<MTLBuffer> MetalDevice::new_buffer(size_t size, const std::string& label) const {
  id<MTLBuffer> buffer = [device_ newBufferWithLength:whole_vectors(size) options:MTLResourceStorageModeShared];
  buffer.label = to_ns_string(label);
  return buffer;
}

Status MetalDevice::allocate_private(size_t size, const std::string& label, std::shared_ptr<MetalBuffer>* out) const {
  const size_t length = whole_vectors(size);
  id<MTLBuffer> buffer = nil;
  if (length <= device_.maxBufferLength) {
    // With a tracked heap, Metal orders the accesses of successive steps.
    const MTLResourceOptions options = MTLResourceStorageModePrivate | MTLResourceHazardTrackingModeTracked;
    const MTLSizeAndAlign needed = [device_ heapBufferSizeAndAlignWithLength:length options:options];
    MTLHeapDescriptor* descriptor = [MTLHeapDescriptor new];
    descriptor.size = (needed.size + needed.align - 1) / needed.align * needed.align;
    descriptor.storageMode = MTLStorageModePrivate;
    descriptor.hazardTrackingMode = MTLHazardTrackingModeTracked;
    id<MTLHeap> heap = [device_ newHeapWithDescriptor:descriptor];
    heap.label = to_ns_string(label);
    buffer = [heap newBufferWithLength:length options:options];
  }
  if (!buffer) return Status::error(StatusCode::kOutOfMemory, label, {}, size);
  buffer.label = to_ns_string(label);
  *out = std::make_shared<MetalBuffer>(residency_, buffer, 0, size);
  return Status::good();
}

Status MetalDevice::clear(const MetalBuffer& buffer, const std::string& label) {
  return blit(label, buffer.size_bytes(), [&](id<MTLBlitCommandEncoder> encoder) {
    [encoder fillBuffer:buffer.buffer() range:NSMakeRange(0, buffer.buffer().length) value:0];
  });
}

Status MetalDevice::blit(const std::string& label, size_t bytes, const std::function<void(id<MTLBlitCommandEncoder>)>& encode) {
  id<MTLCommandBuffer> commands = [queue_ commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commands blitCommandEncoder];
  if (!encoder) return Status::error(StatusCode::kDevice, label, "the GPU provides no command buffer");
  commands.label = encoder.label = to_ns_string(label);
  encode(encoder);
  [encoder endEncoding];
  [commands commit];
  [commands waitUntilCompleted];
  if (commands.status != MTLCommandBufferStatusError) return Status::good();
  return status_of(commands.error, label, bytes);
}

Status MetalDevice::read(const Buffer& from, const BufferPieces& pieces, std::byte* to) {
  @autoreleasepool {
    const std::string label = "read of a buffer";
    const size_t bytes = pieces.size_bytes();
    const auto& buffer = static_cast<const MetalBuffer&>(from);
    id<MTLBuffer> staging = new_buffer(bytes, label);
    if (!staging) return Status::error(StatusCode::kOutOfMemory, label, {}, bytes);
    Status status = blit(label, bytes, [&](id<MTLBlitCommandEncoder> encoder) {
      pieces.for_each_run([&](size_t at, size_t host, size_t size) {
        [encoder copyFromBuffer:buffer.buffer() sourceOffset:buffer.offset_bytes() + at toBuffer:staging destinationOffset:host size:size];
      });
    });
    if (status.ok()) std::memcpy(to, staging.contents, bytes);
    return status;
  }
}

Status MetalDevice::write(const Buffer& to, const BufferPieces& pieces, const std::byte* from) {
  @autoreleasepool {
    const std::string label = "write to a buffer";
    const size_t bytes = pieces.size_bytes();
    const auto& buffer = static_cast<const MetalBuffer&>(to);
    id<MTLBuffer> staging = new_buffer(bytes, label);
    if (!staging) return Status::error(StatusCode::kOutOfMemory, label, {}, bytes);
    std::memcpy(staging.contents, from, bytes);
    return blit(label, bytes, [&](id<MTLBlitCommandEncoder> encoder) {
      pieces.for_each_run([&](size_t at, size_t host, size_t size) {
        [encoder copyFromBuffer:staging sourceOffset:host toBuffer:buffer.buffer() destinationOffset:buffer.offset_bytes() + at size:size];
      });
    });
  }
}

Status MetalDevice::map(const std::string& path, uint64_t offset, uint64_t size, BufferPtr* out) {
  @autoreleasepool {
    FileIdentity identity;
    if (Status status = identify_file(path, &identity); !status.ok()) return status;
    const std::lock_guard<std::mutex> lock(files_mutex_);
    std::shared_ptr<MappedFile> file;
    std::erase_if(files_, [](const auto& weak) { return weak.expired(); });
    for (const auto& weak : files_) {
      if (auto known = weak.lock(); known && known->path() == path && known->is_same_as(identity)) file = known;
    }
    if (!file) {
      if (Status status = MappedFile::open(device_, path, &file); !status.ok()) return status;
      files_.push_back(file);
    }
    if (Status status = check_file_range(path, file->size(), offset, size); !status.ok()) return status;
    id<MTLBuffer> buffer = nil;
    size_t begin = 0;
    if (Status status = file->buffer(device_, offset, size, &buffer, &begin); !status.ok()) return status;
    *out = std::make_shared<MetalBuffer>(residency_, buffer, begin, size, std::move(file));
    return Status::good();
  }
}

Status MetalDevice::upload(const void* data, size_t size, const std::string& label, BufferPtr* out) {
  @autoreleasepool {
    id<MTLBuffer> buffer = new_buffer(size, label);
    if (!buffer) return Status::error(StatusCode::kOutOfMemory, label, {}, size);
    if (size > 0) std::memcpy(buffer.contents, data, size);
    *out = std::make_shared<MetalBuffer>(residency_, buffer, 0, size);
    return Status::good();
  }
}

Status MetalDevice::allocate(size_t size, const std::string& label, BufferPtr* out) {
  @autoreleasepool {
    std::shared_ptr<MetalBuffer> buffer;
    if (Status status = allocate_private(size, label, &buffer); !status.ok()) return status;
    if (Status status = clear(*buffer, label); !status.ok()) return status;
    *out = std::move(buffer);
    return Status::good();
  }
}

Status MetalDevice::create_program(ProgramDescription description, std::shared_ptr<Program>* out) {
  @autoreleasepool {
    return MetalProgram::create(shared_from_this(), std::move(description), out);
  }
}

Status MetalDevice::status_of(NSError* error, const std::string& where, size_t bytes) {
  const std::string text = describe(error);
  if ([error.domain isEqualToString:MTLCommandBufferErrorDomain]) {
    switch (static_cast<MTLCommandBufferError>(error.code)) {
      case MTLCommandBufferErrorOutOfMemory: return Status::error(StatusCode::kOutOfMemory, where, text, bytes);
      case MTLCommandBufferErrorDeviceRemoved:
      case MTLCommandBufferErrorAccessRevoked:
        gate_.lose();
        return Status::error(StatusCode::kDevice, where, text + " The GPU was lost: open the device again");
      default: break;
    }
  }
  std::string labels;
  NSArray<id<MTLCommandBufferEncoderInfo>>* infos = error.userInfo[MTLCommandBufferEncoderInfoErrorKey];
  for (id<MTLCommandBufferEncoderInfo> info in infos) {
    if (info.errorState == MTLCommandEncoderErrorStateFaulted) labels += " in " + to_string(info.label);
  }
  return Status::error(StatusCode::kDevice, where, text + labels);
}

}  // namespace markbase::metal
