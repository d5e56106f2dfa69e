// Read before every source of an addon that is built to run on old systems (scripts/build-native.mjs --sysroot): glibc 2.29 has
// new versions of these functions, which differ from the old ones only in errno.
#pragma once

#if defined(__x86_64__)
#define MARKBASE_OLD(function) __asm__(".symver " #function "," #function "@GLIBC_2.2.5")
#elif defined(__aarch64__)
#define MARKBASE_OLD(function) __asm__(".symver " #function "," #function "@GLIBC_2.17")
#endif

MARKBASE_OLD(exp);
MARKBASE_OLD(exp2);
MARKBASE_OLD(log);
MARKBASE_OLD(log2);
MARKBASE_OLD(pow);
