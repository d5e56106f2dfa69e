// NSString and its three kinds of storage: constants of the program, tiny strings in the pointer, and the heap.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_set>

#import <Foundation/Foundation.h>

#include "../objc/runtime.h"

/** Layout that clang emits for a literal; the variables follow the ABI. */
@interface NSConstantString : NSString {
 @public
  uint32_t _flags;
  uint32_t _length;
  uint32_t _size;
  uint32_t _hash;
  const char* _data;
}
@end

@interface NSTinyString : NSString
@end

@interface NSHeapString : NSString {
 @public
  std::string _text;
}
@end

namespace {

NSHeapString* make_string(std::string text) {
  NSHeapString* made = [[NSHeapString alloc] init];
  made->_text = std::move(text);
  return made;
}

/** A pointer that stays valid forever: tiny strings have no separate memory. */
const char* interned(std::string text) {
  static auto* texts = new std::unordered_set<std::string>;
  static auto* mutex = new std::mutex;
  std::lock_guard lock(*mutex);
  return texts->insert(std::move(text)).first->c_str();
}

/** Appends one conversion, such as "%5.2f", and returns the text after it. */
const char* append_conversion(std::string& out, const char* format, va_list arguments) {
  std::string conversion = "%";
  int longs = 0;
  const char* at = format;
  for (; *at && std::strchr("0123456789.-+ #lzhjtq", *at); ++at) {
    if (*at == 'l' || *at == 'z' || *at == 'j' || *at == 't') longs += 1;
    if (*at == 'q') longs += 2;
    if (!std::strchr("lzhjtq", *at)) conversion += *at;
  }
  char buffer[512];
  int written = 0;
  switch (*at) {
    case '%': out += '%'; break;
    case '@': {
      id object = va_arg(arguments, id);
      out += object ? [[object description] UTF8String] : "(null)";
      break;
    }
    case 's': {
      const char* text = va_arg(arguments, const char*);
      out += text ? text : "(null)";
      break;
    }
    case 'p': written = std::snprintf(buffer, sizeof buffer, "%p", va_arg(arguments, void*)); break;
    case 'c': out += static_cast<char>(va_arg(arguments, int)); break;
    case 'd':
    case 'i':
      conversion += "ld";
      written = std::snprintf(buffer, sizeof buffer, conversion.c_str(),
                              longs ? va_arg(arguments, long) : static_cast<long>(va_arg(arguments, int)));
      break;
    case 'u':
    case 'x':
    case 'X':
      conversion += std::string("l") + *at;
      written = std::snprintf(buffer, sizeof buffer, conversion.c_str(),
                              longs ? va_arg(arguments, unsigned long) : static_cast<unsigned long>(va_arg(arguments, unsigned)));
      break;
    case 'f':
    case 'g':
    case 'e':
      conversion += *at;
      written = std::snprintf(buffer, sizeof buffer, conversion.c_str(), va_arg(arguments, double));
      break;
    default: std::fprintf(stderr, "stringWithFormat: %%%c is not supported\n", *at); std::abort();
  }
  if (written > 0) out.append(buffer, std::min<size_t>(static_cast<size_t>(written), sizeof buffer - 1));
  return at + 1;
}

std::string format_string(const char* format, va_list arguments) {
  std::string out;
  va_list copy;
  va_copy(copy, arguments);
  while (*format) {
    if (*format == '%') {
      format = append_conversion(out, format + 1, copy);
    } else {
      out += *format++;
    }
  }
  va_end(copy);
  return out;
}

}  // namespace

@implementation NSString

+ (instancetype)string {
  return make_string("");
}

+ (instancetype)stringWithUTF8String:(const char*)text {
  return text ? make_string(text) : nil;
}

+ (instancetype)stringWithFormat:(NSString*)format, ... {
  va_list arguments;
  va_start(arguments, format);
  NSString* made = make_string(format_string(format.UTF8String, arguments));
  va_end(arguments);
  return made;
}

+ (instancetype)stringWithString:(NSString*)other {
  return make_string(other.UTF8String);
}

- (instancetype)initWithUTF8String:(const char*)text {
  return make_string(text);
}

- (instancetype)initWithBytes:(const void*)bytes length:(NSUInteger)length encoding:(NSStringEncoding)encoding {
  if (encoding != NSUTF8StringEncoding && encoding != NSASCIIStringEncoding) return nil;
  return make_string(std::string(static_cast<const char*>(bytes), length));
}

- (instancetype)initWithFormat:(NSString*)format arguments:(va_list)arguments {
  return make_string(format_string(format.UTF8String, arguments));
}

- (const char*)UTF8String {
  return "";
}

- (const char*)fileSystemRepresentation {
  return self.UTF8String;
}

- (NSUInteger)length {
  // UTF-16 code units: continuation bytes count as none, four-byte sequences as two.
  NSUInteger units = 0;
  for (const char* at = self.UTF8String; *at; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if ((byte & 0xc0) != 0x80) units += byte >= 0xf0 ? 2 : 1;
  }
  return units;
}

- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding {
  return encoding == NSUTF8StringEncoding ? std::strlen(self.UTF8String) : self.length;
}

- (NSInteger)integerValue {
  return std::strtol(self.UTF8String, nullptr, 10);
}

- (NSUInteger)hash {
  return std::hash<std::string>()(self.UTF8String);
}

- (BOOL)isEqual:(id)object {
  return [object isKindOfClass:[NSString class]] && [self isEqualToString:object];
}

- (BOOL)isEqualToString:(NSString*)other {
  return other != nil && std::strcmp(self.UTF8String, other.UTF8String) == 0;
}

- (BOOL)hasPrefix:(NSString*)other {
  return std::string(self.UTF8String).starts_with(other.UTF8String);
}

- (BOOL)hasSuffix:(NSString*)other {
  return std::string(self.UTF8String).ends_with(other.UTF8String);
}

- (BOOL)containsString:(NSString*)other {
  return std::strstr(self.UTF8String, other.UTF8String) != nullptr;
}

- (NSString*)stringByAppendingString:(NSString*)other {
  return make_string(std::string(self.UTF8String) + other.UTF8String);
}

- (NSString*)stringByAppendingPathComponent:(NSString*)other {
  std::string path = self.UTF8String;
  if (!path.empty() && path.back() != '/') path += '/';
  return make_string(path + other.UTF8String);
}

- (NSString*)description {
  return self;
}

@end

@implementation NSConstantString

- (const char*)UTF8String {
  // Bits 0 and 1 name the encoding; clang writes UTF-16 only for non-ASCII literals.
  if ((_flags & 3) == 2) {
    std::string text;
    const auto* units = reinterpret_cast<const uint16_t*>(_data);
    for (uint32_t i = 0; i < _length; ++i) {
      uint32_t point = units[i];
      if (point >= 0xd800 && point < 0xdc00 && i + 1 < _length) {
        point = 0x10000 + ((point - 0xd800) << 10) + (units[++i] - 0xdc00);
      }
      if (point < 0x80) {
        text += static_cast<char>(point);
        continue;
      }
      const int tail = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
      static const unsigned char kLead[] = {0, 0xc0, 0xe0, 0xf0};
      text += static_cast<char>(kLead[tail] | (point >> (6 * tail)));
      for (int k = tail - 1; k >= 0; --k) text += static_cast<char>(0x80 | ((point >> (6 * k)) & 0x3f));
    }
    return interned(std::move(text));
  }
  return _data;
}

@end

@implementation NSTinyString

- (const char*)UTF8String {
  const auto bits = reinterpret_cast<uint64_t>((__bridge void*)self);
  const int length = static_cast<int>(bits >> 3 & 31);
  std::string text;
  for (int i = 0; i < length; ++i) text += static_cast<char>(bits >> (57 - 7 * i) & 127);
  return interned(std::move(text));
}

@end

@implementation NSHeapString

- (const char*)UTF8String {
  return _text.c_str();
}

@end
