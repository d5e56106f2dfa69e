// NSNumber, NSError, NSURL and NSProcessInfo.
#include <unistd.h>

#include <cstdio>
#include <string>

#import <Foundation/Foundation.h>

#include "system_version.h"

NSErrorUserInfoKey const NSLocalizedDescriptionKey = @"NSLocalizedDescription";
NSErrorUserInfoKey const NSUnderlyingErrorKey = @"NSUnderlyingError";

@interface NSNumber () {
 @public
  bool _isFloat;
  long long _integer;
  double _real;
}
@end

namespace {

NSNumber* make_integer(long long value) {
  NSNumber* made = [[NSNumber alloc] init];
  made->_integer = value;
  made->_real = static_cast<double>(value);
  return made;
}

NSNumber* make_real(double value) {
  NSNumber* made = [[NSNumber alloc] init];
  made->_isFloat = true;
  made->_integer = static_cast<long long>(value);
  made->_real = value;
  return made;
}

}  // namespace

@implementation NSNumber
// clang-format off
+ (NSNumber*)numberWithBool:(BOOL)value { return make_integer(value); }
+ (NSNumber*)numberWithChar:(char)value { return make_integer(value); }
+ (NSNumber*)numberWithShort:(short)value { return make_integer(value); }
+ (NSNumber*)numberWithUnsignedShort:(unsigned short)value { return make_integer(value); }
+ (NSNumber*)numberWithInt:(int)value { return make_integer(value); }
+ (NSNumber*)numberWithUnsignedInt:(unsigned int)value { return make_integer(value); }
+ (NSNumber*)numberWithLong:(long)value { return make_integer(value); }
+ (NSNumber*)numberWithUnsignedLong:(unsigned long)value { return make_integer(static_cast<long long>(value)); }
+ (NSNumber*)numberWithLongLong:(long long)value { return make_integer(value); }
+ (NSNumber*)numberWithUnsignedLongLong:(unsigned long long)value { return make_integer(static_cast<long long>(value)); }
+ (NSNumber*)numberWithFloat:(float)value { return make_real(value); }
+ (NSNumber*)numberWithDouble:(double)value { return make_real(value); }
+ (NSNumber*)numberWithInteger:(NSInteger)value { return make_integer(value); }
+ (NSNumber*)numberWithUnsignedInteger:(NSUInteger)value { return make_integer(static_cast<long long>(value)); }
- (BOOL)boolValue { return _integer != 0 || _real != 0; }
- (int)intValue { return static_cast<int>(_integer); }
- (unsigned int)unsignedIntValue { return static_cast<unsigned int>(_integer); }
- (NSInteger)integerValue { return _integer; }
- (NSUInteger)unsignedIntegerValue { return static_cast<NSUInteger>(_integer); }
- (unsigned long long)unsignedLongLongValue { return static_cast<unsigned long long>(_integer); }
- (float)floatValue { return static_cast<float>(_real); }
- (double)doubleValue { return _real; }
// clang-format on

- (NSString*)stringValue {
  return _isFloat ? [NSString stringWithFormat:@"%g", _real] : [NSString stringWithFormat:@"%lld", _integer];
}

- (NSString*)description {
  return self.stringValue;
}

- (BOOL)isEqual:(id)object {
  if (![object isKindOfClass:[NSNumber class]]) return NO;
  NSNumber* other = object;
  return _integer == other->_integer && _real == other->_real;
}

- (NSUInteger)hash {
  return static_cast<NSUInteger>(_integer);
}

@end

@interface NSError () {
  NSErrorDomain _domain;
  NSInteger _code;
  NSDictionary<NSErrorUserInfoKey, id>* _userInfo;
}
@end

@implementation NSError

@synthesize domain = _domain;
@synthesize code = _code;
@synthesize userInfo = _userInfo;

+ (instancetype)errorWithDomain:(NSErrorDomain)domain code:(NSInteger)code userInfo:(NSDictionary*)userInfo {
  NSError* made = [[self alloc] init];
  made->_domain = domain;
  made->_code = code;
  made->_userInfo = userInfo ? userInfo : [NSDictionary dictionary];
  return made;
}

- (NSString*)localizedDescription {
  NSString* text = [_userInfo objectForKey:NSLocalizedDescriptionKey];
  return text ? text : [NSString stringWithFormat:@"The operation failed (%@ error %ld).", _domain, _code];
}

- (NSString*)description {
  return [NSString stringWithFormat:@"Error Domain=%@ Code=%ld \"%@\"", _domain, _code, self.localizedDescription];
}

@end

@interface NSURL () {
  NSString* _path;
}
@end

@implementation NSURL

@synthesize path = _path;

+ (NSURL*)fileURLWithPath:(NSString*)path {
  NSURL* made = [[NSURL alloc] init];
  made->_path = path;
  return made;
}

+ (NSURL*)fileURLWithPath:(NSString*)path isDirectory:(BOOL)isDirectory {
  (void)isDirectory;
  return [NSURL fileURLWithPath:path];
}

- (NSString*)absoluteString {
  return [@"file://" stringByAppendingString:_path];
}

- (const char*)fileSystemRepresentation {
  return _path.UTF8String;
}

- (NSString*)description {
  return self.absoluteString;
}

@end

@implementation NSProcessInfo

+ (NSProcessInfo*)processInfo {
  return [[NSProcessInfo alloc] init];
}

- (NSOperatingSystemVersion)operatingSystemVersion {
  return {metal_sim::system_version(), 0, 0};
}

- (NSString*)operatingSystemVersionString {
  return [NSString stringWithFormat:@"Version %d.0 (simulated)", metal_sim::system_version()];
}

- (unsigned long long)physicalMemory {
  return static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES)) * static_cast<unsigned long long>(sysconf(_SC_PAGESIZE));
}

- (NSUInteger)processorCount {
  return static_cast<NSUInteger>(sysconf(_SC_NPROCESSORS_ONLN));
}

- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version {
  const int major = metal_sim::system_version();
  return major > version.majorVersion || (major == version.majorVersion && version.minorVersion == 0);
}

@end
