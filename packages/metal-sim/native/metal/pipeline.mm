// Libraries, functions, pipelines and the archive of pipelines.
#include "pipeline.h"

#include <cstring>
#include <fstream>
#include <set>

#include "state.h"

using metal_sim::report_validation;
using metal_sim::state;

NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";
NSErrorDomain const MTLBinaryArchiveDomain = @"MTLBinaryArchiveDomain";

void metal_sim_set_error(NSError* __autoreleasing* error, NSErrorDomain domain, NSInteger code, const std::string& message) {
  if (!error) return;
  NSString* text = [NSString stringWithUTF8String:message.c_str()];
  *error = [NSError errorWithDomain:domain code:code userInfo:@{NSLocalizedDescriptionKey : text}];
}

namespace {

size_t size_of(MTLDataType type) {
  switch (type) {
    case MTLDataTypeBool:
    case MTLDataTypeChar:
    case MTLDataTypeUChar: return 1;
    case MTLDataTypeHalf:
    case MTLDataTypeBFloat:
    case MTLDataTypeShort:
    case MTLDataTypeUShort: return 2;
    case MTLDataTypeFloat:
    case MTLDataTypeInt:
    case MTLDataTypeUInt: return 4;
    case MTLDataTypeLong:
    case MTLDataTypeULong: return 8;
    default: return 0;
  }
}

std::vector<unsigned char> bytes_of(const void* value, MTLDataType type) {
  const size_t size = size_of(type);
  if (size == 0) report_validation("a function constant has a type that is not supported");
  const auto* bytes = static_cast<const unsigned char*>(value);
  return {bytes, bytes + size};
}

}  // namespace

@implementation MTLCompileOptions

- (instancetype)init {
  self = [super init];
  // Metal's defaults include fast mathematics, which makes infinities dangerous.
  _fastMathEnabled = YES;
  _mathMode = MTLMathModeFast;
  _languageVersion = MTLLanguageVersion3_2;
  return self;
}

@end

@implementation MTLFunctionConstantValues

- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index {
  _values.push_back({static_cast<unsigned>(index), bytes_of(value, type)});
}

- (void)setConstantValues:(const void*)values type:(MTLDataType)type withRange:(NSRange)range {
  for (NSUInteger i = 0; i < range.length; ++i) {
    [self setConstantValue:static_cast<const char*>(values) + i * size_of(type) type:type atIndex:range.location + i];
  }
}

- (void)setConstantValue:(const void*)value type:(MTLDataType)type withName:(NSString*)name {
  _namedValues.push_back({name.UTF8String, {0, bytes_of(value, type)}});
}

- (void)reset {
  _values.clear();
  _namedValues.clear();
}

@end

@interface MTLSimFunction () {
 @public
  id<MTLDevice> _device;
  std::shared_ptr<msl::Library> _library;
  const msl::KernelRecord* _kernel;
  std::vector<msl::ConstantValue> _constants;
}
@end

@implementation MTLSimFunction

@synthesize label = _label;
@synthesize device = _device;
@synthesize library = _library;
@synthesize kernel = _kernel;
@synthesize constants = _constants;

- (NSString*)name {
  return [NSString stringWithUTF8String:_kernel->name];
}

@end

@implementation MTLSimLibrary {
  id<MTLDevice> _device;
  std::shared_ptr<msl::Library> _library;
}

@synthesize label = _label;
@synthesize device = _device;

- (instancetype)initWithLibrary:(std::shared_ptr<msl::Library>)library device:(id<MTLDevice>)device {
  self = [super init];
  _library = std::move(library);
  _device = device;
  return self;
}

- (NSArray<NSString*>*)functionNames {
  NSMutableArray<NSString*>* names = [NSMutableArray array];
  const msl::Module& module = _library->module();
  for (unsigned i = 0; i < module.kernel_count; ++i) {
    [names addObject:[NSString stringWithUTF8String:module.kernels[i].name]];
  }
  return names;
}

- (id<MTLFunction>)newFunctionWithName:(NSString*)name {
  const msl::KernelRecord* kernel = _library->find(name.UTF8String);
  if (!kernel || state().takes_failure(kMetalSimNoFunction)) return nil;
  MTLSimFunction* function = [[MTLSimFunction alloc] init];
  function->_device = _device;
  function->_library = _library;
  function->_kernel = kernel;
  return function;
}

- (id<MTLFunction>)newFunctionWithName:(NSString*)name
                        constantValues:(MTLFunctionConstantValues*)values
                                 error:(NSError* __autoreleasing*)error {
  MTLSimFunction* function = (MTLSimFunction*)[self newFunctionWithName:name];
  if (!function) {
    metal_sim_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound,
                        std::string("function ") + name.UTF8String + " was not found in the library");
    return nil;
  }
  function->_constants = values.values;
  const msl::Module& module = _library->module();
  for (const auto& [constant_name, value] : values.namedValues) {
    for (unsigned i = 0; i < module.constant_count; ++i) {
      if (constant_name == module.constants[i].name) function->_constants.push_back({module.constants[i].index, value.bytes});
    }
  }
  for (unsigned i = 0; i < module.constant_count; ++i) {
    for (const msl::ConstantValue& value : function->_constants) {
      if (value.index != module.constants[i].index || value.bytes.size() == module.constants[i].size) continue;
      metal_sim_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorInternal,
                          std::string("function constant ") + module.constants[i].name + " has " +
                              std::to_string(module.constants[i].size) + " bytes, received " + std::to_string(value.bytes.size()));
      return nil;
    }
  }
  return function;
}

@end

@implementation MTLComputePipelineDescriptor

- (void)reset {
  self.label = nil;
  self.computeFunction = nil;
  self.binaryArchives = nil;
  self.maxTotalThreadsPerThreadgroup = 0;
}

@end

@implementation MTLSimPipeline {
  id<MTLDevice> _device;
  NSString* _label;
  MTLSimFunction* _function;
  NSUInteger _maxThreads;
}

@synthesize device = _device;
@synthesize label = _label;
@synthesize function = _function;
@synthesize maxTotalThreadsPerThreadgroup = _maxThreads;

- (instancetype)initWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                            device:(id<MTLDevice>)device
                             error:(NSError* __autoreleasing*)error {
  self = [super init];
  if (state().takes_failure(kMetalSimNoPipeline)) {
    metal_sim_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorInternal, "the compiler service was interrupted");
    return nil;
  }
  _function = (MTLSimFunction*)descriptor.computeFunction;
  if (!_function) {
    report_validation("newComputePipelineState: the function is nil");
    metal_sim_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorInternal, "the function is nil");
    return nil;
  }
  // Constants that are used need values; here every constant of the library counts as used.
  const msl::Module& module = _function.library->module();
  std::set<unsigned> given;
  for (const msl::ConstantValue& value : _function.constants) given.insert(value.index);
  if (module.constant_count > 0 && given.empty()) {
    const std::string message = std::string("function ") + _function.kernel->name + " has function constants, but no values";
    metal_sim_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorInternal, message);
    return nil;
  }
  _device = device;
  _label = descriptor.label;
  _maxThreads = _function.kernel->max_threads ? _function.kernel->max_threads : msl::kMaxThreadsPerGroup;
  if (descriptor.maxTotalThreadsPerThreadgroup) {
    _maxThreads = std::min(_maxThreads, descriptor.maxTotalThreadsPerThreadgroup);
  }
  if (state().takes_failure(kMetalSimFewThreads)) _maxThreads = msl::kSimdWidth;
  state().pipelines += 1;
  return self;
}

- (NSUInteger)threadExecutionWidth {
  return msl::kSimdWidth;
}

@end

@implementation MTLBinaryArchiveDescriptor
@end

@implementation MTLSimArchive {
  id<MTLDevice> _device;
  std::set<std::string> _names;
}

@synthesize label = _label;
@synthesize device = _device;

static const char* const kArchiveHeader = "metal-sim archive 1";

- (instancetype)initWithDescriptor:(MTLBinaryArchiveDescriptor*)descriptor
                            device:(id<MTLDevice>)device
                             error:(NSError* __autoreleasing*)error {
  self = [super init];
  _device = device;
  if (state().takes_failure(kMetalSimNoArchive)) {
    metal_sim_set_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInternalError, "the archive cannot be opened");
    return nil;
  }
  if (!descriptor.url) return self;
  std::ifstream file(descriptor.url.fileSystemRepresentation);
  std::string line;
  if (!std::getline(file, line) || line != kArchiveHeader) {
    metal_sim_set_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInvalidFile, "the file is not a binary archive");
    return nil;
  }
  while (std::getline(file, line)) _names.insert(line);
  return self;
}

- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor*)descriptor error:(NSError* __autoreleasing*)error {
  if (!descriptor.computeFunction) {
    metal_sim_set_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorUnexpectedElement, "the function is nil");
    return NO;
  }
  _names.insert(descriptor.computeFunction.name.UTF8String);
  return YES;
}

- (BOOL)serializeToURL:(NSURL*)url error:(NSError* __autoreleasing*)error {
  std::ofstream file(url.fileSystemRepresentation);
  file << kArchiveHeader << "\n";
  for (const std::string& name : _names) file << name << "\n";
  file.flush();
  if (file && !state().takes_failure(kMetalSimNoArchive)) return YES;
  metal_sim_set_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInternalError, "the archive cannot be written");
  return NO;
}

- (BOOL)containsFunction:(MTLSimFunction*)function {
  return _names.count(function.kernel->name) > 0;
}

@end
