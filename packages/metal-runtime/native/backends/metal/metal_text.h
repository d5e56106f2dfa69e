#pragma once

#import <Foundation/Foundation.h>

#include <string>

namespace markbase::metal {

inline NSString* to_ns_string(const std::string& text) {
  NSString* string = [NSString stringWithUTF8String:text.c_str()];
  // Text that is not UTF-8 has no NSString.
  return string ? string : @"";
}

inline std::string to_string(NSString* text) {
  const char* bytes = text ? text.UTF8String : nullptr;
  return bytes ? bytes : "";
}

/** The message of an error on one line. */
inline std::string describe(NSError* error) { return error ? to_string(error.localizedDescription) : std::string("no reason given"); }

}  // namespace markbase::metal
