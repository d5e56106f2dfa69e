#include "residency.h"

namespace markbase::metal {

// Owners may release memory on a thread without an autorelease pool, so every method has its own.

Residency::Residency(id<MTLDevice> device, id<MTLCommandQueue> queue) : queue_(queue) {
  @autoreleasepool {
    if (@available(macOS 15.0, *)) {
      MTLResidencySetDescriptor* descriptor = [MTLResidencySetDescriptor new];
      descriptor.label = @"markbase";
      NSError* error = nil;
      id<MTLResidencySet> set = [device newResidencySetWithDescriptor:descriptor error:&error];
      if (set) [queue_ addResidencySet:set];
      set_ = set;
    }
  }
}

Residency::~Residency() {
  @autoreleasepool {
    if (@available(macOS 15.0, *)) {
      id<MTLResidencySet> set = set_;
      if (set) [queue_ removeResidencySet:set];
      [set endResidency];
    }
    set_ = nil;
  }
}

void Residency::add(id allocation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!set_ || owners_[(__bridge const void*)allocation]++ > 0) return;
  @autoreleasepool {
    if (@available(macOS 15.0, *)) {
      id<MTLResidencySet> set = set_;
      [set addAllocation:allocation];
      [set commit];
      [set requestResidency];
    }
  }
}

void Residency::remove(id allocation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!set_ || --owners_[(__bridge const void*)allocation] > 0) return;
  owners_.erase((__bridge const void*)allocation);
  @autoreleasepool {
    if (@available(macOS 15.0, *)) {
      id<MTLResidencySet> set = set_;
      [set removeAllocation:allocation];
      [set commit];
    }
  }
}

}  // namespace markbase::metal
