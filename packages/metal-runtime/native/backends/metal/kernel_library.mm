#include "kernel_library.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernel_sources.h"
#include "metal_text.h"

namespace markbase::metal {

namespace {

/** Changes with every change of a kernel, so that pipelines of other versions are not used. */
uint64_t hash_of_sources() {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < kKernelSourceCount; ++i) {
    for (const char* at = kKernelSources[i].text; *at != 0; ++at) {
      hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3u;
    }
  }
  return hash;
}

/** MARKBASE_METAL_CACHE, or the user's cache folder if it exists; empty otherwise. */
std::string cache_folder() {
  if (const char* own = std::getenv("MARKBASE_METAL_CACHE")) return own;
  const char* home = std::getenv("HOME");
  const std::string caches = std::string(home ? home : "") + "/Library/Caches";
  struct stat info{};
  if (!home || stat(caches.c_str(), &info) != 0) return "";
  const std::string folder = caches + "/markbase";
  mkdir(folder.c_str(), 0700);
  return folder;
}

/** As numbers, because SDKs before that of macOS 26 lack the names. */
constexpr auto kFamilyApple10 = static_cast<MTLGPUFamily>(1010);
constexpr auto kFamilyMetal4 = static_cast<MTLGPUFamily>(5002);
constexpr auto kLanguage4 = static_cast<MTLLanguageVersion>(4 << 16);

/** Files and prefixes of the same kernels, without and with tensor operations. */
constexpr const char* kTileSource = "linear_tile";
constexpr const char* kTensorSource = "linear_tensor";

/** True if tensor operations exist and the GPU has matrix units for them; other GPUs are not faster with them. */
bool has_tensor_operations(id<MTLDevice> device) {
  const char* wanted = std::getenv("MARKBASE_METAL_TENSOR");
  if (wanted && std::strcmp(wanted, "0") == 0) return false;
  if (@available(macOS 26.0, *)) {
    return [device supportsFamily:kFamilyMetal4] && [device supportsFamily:kFamilyApple10];
  }
  return false;
}

Status compile_error(const std::string& kernel, NSError* error) {
  return Status::error(StatusCode::kDevice, kernel, "the kernel does not compile on this system: " + describe(error));
}

}  // namespace

KernelLibrary::KernelLibrary(id<MTLDevice> device) : device_(device), has_tensor_(has_tensor_operations(device)) { open_archive(); }

void KernelLibrary::open_archive() {
  const std::string folder = cache_folder();
  if (folder.empty()) return;
  archive_path_ = folder + "/kernels-" + std::to_string(hash_of_sources()) + ".metalarchive";
  MTLBinaryArchiveDescriptor* descriptor = [MTLBinaryArchiveDescriptor new];
  struct stat info{};
  if (stat(archive_path_.c_str(), &info) == 0) descriptor.url = [NSURL fileURLWithPath:to_ns_string(archive_path_)];
  NSError* error = nil;
  archive_ = [device_ newBinaryArchiveWithDescriptor:descriptor error:&error];
  if (archive_ || !descriptor.url) return;
  // A file of another system, or a damaged one: start over.
  descriptor.url = nil;
  archive_ = [device_ newBinaryArchiveWithDescriptor:descriptor error:&error];
}

Status KernelLibrary::library(const std::string& source, id<MTLLibrary> __strong* out) {
  const auto known = libraries_.find(source);
  if (known != libraries_.end()) {
    *out = known->second;
    return Status::good();
  }
  const char* text = nullptr;
  for (size_t i = 0; i < kKernelSourceCount; ++i) {
    if (source == kKernelSources[i].name) text = kKernelSources[i].text;
  }
  if (!text) return Status::error(StatusCode::kDevice, source, "this build lacks the kernel file");
  MTLCompileOptions* options = [MTLCompileOptions new];
  // Sums keep their order, so that a fused kernel gives the bits of the plain ones; speed is limited by memory, not arithmetic.
  if (@available(macOS 15.0, *)) {
    options.mathMode = MTLMathModeSafe;
    options.mathFloatingPointFunctions = MTLMathFloatingPointFunctionsPrecise;
  } else {
    options.fastMathEnabled = NO;
  }
  if (source == kTensorSource) options.languageVersion = kLanguage4;
  NSError* error = nil;
  id<MTLLibrary> library = [device_ newLibraryWithSource:to_ns_string(text) options:options error:&error];
  if (!library) return compile_error(source, error);
  library.label = to_ns_string(source);
  libraries_[source] = library;
  *out = library;
  return Status::good();
}

Status KernelLibrary::pipeline(const std::string& source, const std::string& kernel, id<MTLComputePipelineState> __strong* out) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = pipelines_.find(kernel);
  if (known != pipelines_.end()) {
    *out = known->second;
    return Status::good();
  }
  if (has_tensor_ && source == kTileSource) {
    const std::string name = kTensorSource + kernel.substr(std::strlen(kTileSource));
    // Early versions of Apple's headers lack bfloat; then the other file is used.
    has_tensor_ = compile(kTensorSource, name, out).ok();
    if (has_tensor_) {
      pipelines_[kernel] = *out;
      return Status::good();
    }
  }
  Status status = compile(source, kernel, out);
  if (status.ok()) pipelines_[kernel] = *out;
  return status;
}

Status KernelLibrary::compile(const std::string& source, const std::string& kernel, id<MTLComputePipelineState> __strong* out) {
  id<MTLLibrary> from = nil;
  if (Status status = library(source, &from); !status.ok()) return status;
  id<MTLFunction> function = [from newFunctionWithName:to_ns_string(kernel)];
  if (!function) return Status::error(StatusCode::kDevice, kernel, "the kernel file " + source + " has no such kernel");
  MTLComputePipelineDescriptor* descriptor = [MTLComputePipelineDescriptor new];
  descriptor.computeFunction = function;
  descriptor.label = to_ns_string(kernel);
  NSError* error = nil;
  id<MTLComputePipelineState> pipeline = make_pipeline(descriptor, &error);
  if (!pipeline) return compile_error(kernel, error);
  *out = pipeline;
  return Status::good();
}

id<MTLComputePipelineState> KernelLibrary::make_pipeline(MTLComputePipelineDescriptor* descriptor, NSError** error) {
  if (archive_) {
    descriptor.binaryArchives = @[ archive_ ];
    id<MTLComputePipelineState> kept = [device_ newComputePipelineStateWithDescriptor:descriptor
                                                                              options:MTLPipelineOptionFailOnBinaryArchiveMiss
                                                                           reflection:nil
                                                                                error:error];
    if (kept) return kept;
  }
  id<MTLComputePipelineState> compiled = [device_ newComputePipelineStateWithDescriptor:descriptor
                                                                                options:MTLPipelineOptionNone
                                                                             reflection:nil
                                                                                  error:error];
  NSError* ignored = nil;
  if (compiled && [archive_ addComputePipelineFunctionsWithDescriptor:descriptor error:&ignored]) has_new_ = true;
  return compiled;
}

void KernelLibrary::save() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!has_new_) return;
  has_new_ = false;
  // Renaming is atomic: another process reads either the old archive or the new one.
  const std::string partial = archive_path_ + "." + std::to_string(getpid());
  NSError* error = nil;
  const bool is_written = [archive_ serializeToURL:[NSURL fileURLWithPath:to_ns_string(partial)] error:&error];
  if (!is_written || std::rename(partial.c_str(), archive_path_.c_str()) != 0) unlink(partial.c_str());
}

}  // namespace markbase::metal
