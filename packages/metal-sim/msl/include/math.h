#pragma once

#include "types.h"

// Functions of <metal_math>, <metal_common>, <metal_integer>, <metal_relational> and <metal_geometric>. Overloads exist per
// scalar type, as in Metal: a call that mixes types is ambiguous here too.

#if !defined(__NVPTX__)
extern "C" {
double ldexp(double, int);
float sinhf(float), coshf(float), tanhf(float), asinf(float), acosf(float), atanf(float), asinhf(float), acoshf(float);
float atanhf(float), atan2f(float, float), fmodf(float, float), powf(float, float), expf(float), exp2f(float);
float expm1f(float), logf(float), log2f(float), log10f(float), sinf(float), cosf(float), tanf(float), cbrtf(float);
}
#endif

namespace metal {

template <typename To, typename From>
constexpr To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type: both types have the same size");
  return __builtin_bit_cast(To, from);
}

// A function of floats, for all floating types and their vectors. Half and bfloat compute in float and round once.
#define MSL_UNARY(NAME, EXPRESSION)                  \
  inline float NAME(float x) { return EXPRESSION; }  \
  inline half NAME(half h) {                         \
    float x = float(h);                              \
    return half(EXPRESSION);                         \
  }                                                  \
  inline bfloat NAME(bfloat b) {                     \
    float x = float(b);                              \
    return bfloat(EXPRESSION);                       \
  }                                                  \
  template <typename T, int N>                       \
  inline ext<T, N> NAME(ext<T, N> v) {               \
    ext<T, N> out;                                   \
    for (int i = 0; i < N; ++i) out[i] = NAME(v[i]); \
    return out;                                      \
  }

#define MSL_BINARY(NAME, EXPRESSION)                                 \
  inline float NAME(float x, float y) { return EXPRESSION; }         \
  inline half NAME(half a, half b) {                                 \
    float x = float(a), y = float(b);                                \
    return half(EXPRESSION);                                         \
  }                                                                  \
  inline bfloat NAME(bfloat a, bfloat b) {                           \
    float x = float(a), y = float(b);                                \
    return bfloat(EXPRESSION);                                       \
  }                                                                  \
  template <typename T, int N>                                       \
  inline ext<T, N> NAME(ext<T, N> a, ext<T, N> b) {                  \
    ext<T, N> out;                                                   \
    for (int i = 0; i < N; ++i) out[i] = NAME(a[i], b[i]);           \
    return out;                                                      \
  }                                                                  \
  template <typename T, int N>                                       \
  inline ext<T, N> NAME(ext<T, N> a, typename Identity<T>::Type b) { \
    ext<T, N> out;                                                   \
    for (int i = 0; i < N; ++i) out[i] = NAME(a[i], b);              \
    return out;                                                      \
  }

// Functions that every processor rounds in the same way.
#define MSL_EXACT_FUNCTIONS                                                  \
  MSL_UNARY(sqrt, __builtin_sqrtf(x))                                        \
  MSL_UNARY(rsqrt, 1.0f / __builtin_sqrtf(x))                                \
  MSL_UNARY(floor, __builtin_floorf(x))                                      \
  MSL_UNARY(ceil, __builtin_ceilf(x))                                        \
  MSL_UNARY(trunc, __builtin_truncf(x))                                      \
  MSL_UNARY(round, __builtin_roundf(x))                                      \
  MSL_UNARY(rint, __builtin_rintf(x))                                        \
  MSL_UNARY(fabs, __builtin_fabsf(x))                                        \
  MSL_UNARY(fract, __builtin_fminf(x - __builtin_floorf(x), 0x1.fffffep-1f)) \
  MSL_BINARY(divide, x / y)                                                  \
  MSL_BINARY(fmin, __builtin_fminf(x, y))                                    \
  MSL_BINARY(fmax, __builtin_fmaxf(x, y))                                    \
  MSL_BINARY(copysign, __builtin_copysignf(x, y))                            \
  MSL_BINARY(fdim, (x > y ? x - y : 0.0f))                                   \
  MSL_BINARY(step, (y < x ? 0.0f : 1.0f))

#if defined(__NVPTX__)
// There is no library for the other functions: kernels define their own, which are the same on every GPU.
#define MSL_FLOAT_FUNCTIONS MSL_EXACT_FUNCTIONS
#else
#define MSL_FLOAT_FUNCTIONS                       \
  MSL_EXACT_FUNCTIONS                             \
  MSL_UNARY(exp, ::expf(x))                       \
  MSL_UNARY(exp2, ::exp2f(x))                     \
  MSL_UNARY(exp10, ::powf(10.0f, x))              \
  MSL_UNARY(log, ::logf(x))                       \
  MSL_UNARY(log2, ::log2f(x))                     \
  MSL_UNARY(log10, ::log10f(x))                   \
  MSL_UNARY(sin, ::sinf(x))                       \
  MSL_UNARY(cos, ::cosf(x))                       \
  MSL_UNARY(tan, ::tanf(x))                       \
  MSL_UNARY(sinh, ::sinhf(x))                     \
  MSL_UNARY(cosh, ::coshf(x))                     \
  MSL_UNARY(tanh, ::tanhf(x))                     \
  MSL_UNARY(asin, ::asinf(x))                     \
  MSL_UNARY(acos, ::acosf(x))                     \
  MSL_UNARY(atan, ::atanf(x))                     \
  MSL_UNARY(asinh, ::asinhf(x))                   \
  MSL_UNARY(acosh, ::acoshf(x))                   \
  MSL_UNARY(atanh, ::atanhf(x))                   \
  MSL_UNARY(sinpi, ::sinf(3.14159265358979f * x)) \
  MSL_UNARY(cospi, ::cosf(3.14159265358979f * x)) \
  MSL_BINARY(pow, ::powf(x, y))                   \
  MSL_BINARY(powr, ::powf(x, y))                  \
  MSL_BINARY(fmod, ::fmodf(x, y))                 \
  MSL_BINARY(atan2, ::atan2f(x, y))
#endif

MSL_FLOAT_FUNCTIONS

// Kernels choose an accuracy; here both use this processor's.
namespace precise {
MSL_FLOAT_FUNCTIONS
}
namespace fast {
MSL_FLOAT_FUNCTIONS
}

#define MSL_FLOAT_TYPES(APPLY) APPLY(float) APPLY(half) APPLY(bfloat)
#define MSL_INTEGER_TYPES(APPLY) \
  APPLY(char) APPLY(int8_t) APPLY(uchar) APPLY(short) APPLY(ushort) APPLY(int) APPLY(uint) APPLY(long) APPLY(ulong)

#define MSL_MIN_MAX(T)                                                                  \
  constexpr T min(T a, T b) { return b < a ? b : a; }                                   \
  constexpr T max(T a, T b) { return a < b ? b : a; }                                   \
  constexpr T clamp(T x, T low, T high) { return x < low ? low : high < x ? high : x; } \
  constexpr T min3(T a, T b, T c) { return min(min(a, b), c); }                         \
  constexpr T max3(T a, T b, T c) { return max(max(a, b), c); }                         \
  constexpr T select(T a, T b, bool which) { return which ? b : a; }
MSL_INTEGER_TYPES(MSL_MIN_MAX)

// min and max of floats ignore a NaN operand, as Metal's do.
#define MSL_FLOAT_MIN_MAX(T)                                                              \
  inline T min(T a, T b) { return b < a || a != a ? b : a; }                              \
  inline T max(T a, T b) { return a < b || a != a ? b : a; }                              \
  inline T clamp(T x, T low, T high) { return min(max(x, low), high); }                   \
  inline T min3(T a, T b, T c) { return min(min(a, b), c); }                              \
  inline T max3(T a, T b, T c) { return max(max(a, b), c); }                              \
  inline T saturate(T x) { return clamp(x, T(0.0f), T(1.0f)); }                           \
  inline T mix(T a, T b, T t) { return a + (b - a) * t; }                                 \
  inline T sign(T x) { return x > T(0.0f) ? T(1.0f) : x < T(0.0f) ? T(-1.0f) : T(0.0f); } \
  inline T abs(T x) { return fabs(x); }                                                   \
  inline T select(T a, T b, bool which) { return which ? b : a; }                         \
  inline bool isnan(T x) { return __builtin_isnan(float(x)); }                            \
  inline bool isinf(T x) { return __builtin_isinf(float(x)); }                            \
  inline bool isfinite(T x) { return __builtin_isfinite(float(x)); }                      \
  inline bool isnormal(T x) { return __builtin_isnormal(float(x)); }                      \
  inline bool signbit(T x) { return __builtin_signbit(float(x)); }                        \
  inline T smoothstep(T low, T high, T x) {                                               \
    const T t = clamp((x - low) / (high - low), T(0.0f), T(1.0f));                        \
    return t * t * (T(3.0f) - T(2.0f) * t);                                               \
  }
MSL_FLOAT_TYPES(MSL_FLOAT_MIN_MAX)

constexpr bool select(bool a, bool b, bool which) { return which ? b : a; }

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline half fma(half a, half b, half c) { return half(__builtin_fma(double(a), double(b), double(c))); }
inline bfloat fma(bfloat a, bfloat b, bfloat c) { return bfloat(__builtin_fmaf(float(a), float(b), float(c))); }
inline float mad(float a, float b, float c) { return a * b + c; }
namespace precise {
using metal::fma;
using metal::max;
using metal::min;
}  // namespace precise
namespace fast {
using metal::clamp;
using metal::fma;
using metal::max;
using metal::min;
}  // namespace fast

#if !defined(__NVPTX__)
inline float ldexp(float x, int k) { return static_cast<float>(::ldexp(static_cast<double>(x), k)); }
inline float sincos(float x, float& cosine) {
  cosine = ::cosf(x);
  return ::sinf(x);
}
inline float frexp(float x, int& exponent) { return __builtin_frexpf(x, &exponent); }
inline float modf(float x, float& whole) { return __builtin_modff(x, &whole); }
#endif

template <typename T, int N>
inline ext<T, N> fma(ext<T, N> a, ext<T, N> b, ext<T, N> c) {
  ext<T, N> out;
  for (int i = 0; i < N; ++i) out[i] = fma(a[i], b[i], c[i]);
  return out;
}
template <typename T, int N>
inline ext<T, N> fma(ext<T, N> a, typename Identity<T>::Type b, ext<T, N> c) {
  return fma(a, (ext<T, N>)(b), c);
}

#define MSL_VECTOR_BINARY(NAME)                                         \
  template <typename T, int N>                                          \
  constexpr ext<T, N> NAME(ext<T, N> a, ext<T, N> b) {                  \
    ext<T, N> out = {};                                                 \
    for (int i = 0; i < N; ++i) out[i] = NAME(a[i], b[i]);              \
    return out;                                                         \
  }                                                                     \
  template <typename T, int N>                                          \
  constexpr ext<T, N> NAME(ext<T, N> a, typename Identity<T>::Type b) { \
    return NAME(a, (ext<T, N>)(b));                                     \
  }
MSL_VECTOR_BINARY(min)
MSL_VECTOR_BINARY(max)

template <typename T, int N>
constexpr ext<T, N> clamp(ext<T, N> x, ext<T, N> low, ext<T, N> high) {
  return min(max(x, low), high);
}
template <typename T, int N>
constexpr ext<T, N> clamp(ext<T, N> x, typename Identity<T>::Type low, typename Identity<T>::Type high) {
  return min(max(x, low), high);
}
template <typename T, int N>
inline ext<T, N> mix(ext<T, N> a, ext<T, N> b, ext<T, N> t) {
  return a + (b - a) * t;
}
template <typename T, int N>
inline ext<T, N> mix(ext<T, N> a, ext<T, N> b, typename Identity<T>::Type t) {
  return a + (b - a) * t;
}
template <typename T, int N>
inline ext<T, N> sign(ext<T, N> x) {
  ext<T, N> out;
  for (int i = 0; i < N; ++i) out[i] = sign(x[i]);
  return out;
}
template <typename T, int N>
inline ext<T, N> saturate(ext<T, N> x) {
  return clamp(x, T(0.0f), T(1.0f));
}
/** b where the mask is not 0. */
template <typename T, typename M, int N>
constexpr ext<T, N> select(ext<T, N> a, ext<T, N> b, ext<M, N> mask) {
  ext<T, N> out = {};
  for (int i = 0; i < N; ++i) out[i] = mask[i] ? b[i] : a[i];
  return out;
}
template <typename M, int N>
constexpr bool any(ext<M, N> mask) {
  bool found = false;
  for (int i = 0; i < N; ++i) found = found || mask[i];
  return found;
}
template <typename M, int N>
constexpr bool all(ext<M, N> mask) {
  bool found = true;
  for (int i = 0; i < N; ++i) found = found && mask[i];
  return found;
}
constexpr bool any(bool x) { return x; }
constexpr bool all(bool x) { return x; }

template <typename T, int N>
inline T dot(ext<T, N> a, ext<T, N> b) {
  T sum = a[0] * b[0];
  for (int i = 1; i < N; ++i) sum += a[i] * b[i];
  return sum;
}
template <typename T, int N>
inline T length_squared(ext<T, N> a) {
  return dot(a, a);
}
template <typename T, int N>
inline T length(ext<T, N> a) {
  return sqrt(dot(a, a));
}
template <typename T, int N>
inline T distance(ext<T, N> a, ext<T, N> b) {
  return length(a - b);
}
template <typename T, int N>
inline ext<T, N> normalize(ext<T, N> a) {
  return a * rsqrt(dot(a, a));
}

// Integers.
#define MSL_SIGNED_ABS(T) \
  constexpr T abs(T x) { return static_cast<T>(x < 0 ? -x : x); }
MSL_SIGNED_ABS(short)
MSL_SIGNED_ABS(int)
MSL_SIGNED_ABS(long)

#define MSL_BITS(T)                                                                                                                  \
  constexpr T popcount(T x) { return static_cast<T>(__builtin_popcountll(static_cast<ulong>(x) & (~0ul >> (64 - 8 * sizeof(T))))); } \
  constexpr T clz(T x) {                                                                                                             \
    const ulong bits = static_cast<ulong>(x) & (~0ul >> (64 - 8 * sizeof(T)));                                                       \
    return static_cast<T>(bits ? __builtin_clzll(bits) - (64 - 8 * static_cast<int>(sizeof(T))) : 8 * static_cast<int>(sizeof(T)));  \
  }                                                                                                                                  \
  constexpr T ctz(T x) {                                                                                                             \
    const ulong bits = static_cast<ulong>(x) & (~0ul >> (64 - 8 * sizeof(T)));                                                       \
    return static_cast<T>(bits ? __builtin_ctzll(bits) : 8 * static_cast<int>(sizeof(T)));                                           \
  }                                                                                                                                  \
  constexpr T reverse_bits(T x) {                                                                                                    \
    ulong bits = static_cast<ulong>(x), out = 0;                                                                                     \
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) out |= (bits >> i & 1) << (8 * sizeof(T) - 1 - i);                                  \
    return static_cast<T>(out);                                                                                                      \
  }                                                                                                                                  \
  constexpr T rotate(T x, T by) {                                                                                                    \
    constexpr unsigned width = 8 * sizeof(T);                                                                                        \
    const ulong bits = static_cast<ulong>(x) & (~0ul >> (64 - width));                                                               \
    const unsigned k = static_cast<unsigned>(by) % width;                                                                            \
    return static_cast<T>(k ? bits << k | bits >> (width - k) : bits);                                                               \
  }                                                                                                                                  \
  constexpr T extract_bits(T x, uint offset, uint bits) {                                                                            \
    if (bits == 0) return 0;                                                                                                         \
    constexpr uint width = 8 * sizeof(T);                                                                                            \
    const T shifted = static_cast<T>(static_cast<T>(x << (width - bits - offset)));                                                  \
    return static_cast<T>(shifted >> (width - bits));                                                                                \
  }                                                                                                                                  \
  constexpr T insert_bits(T base, T insert, uint offset, uint bits) {                                                                \
    const ulong mask = (bits >= 64 ? ~0ul : (1ul << bits) - 1) << offset;                                                            \
    return static_cast<T>((static_cast<ulong>(base) & ~mask) | (static_cast<ulong>(insert) << offset & mask));                       \
  }
MSL_BITS(uchar)
MSL_BITS(short)
MSL_BITS(ushort)
MSL_BITS(int)
MSL_BITS(uint)
MSL_BITS(long)
MSL_BITS(ulong)

template <typename T, int N>
constexpr ext<T, N> popcount(ext<T, N> v) {
  ext<T, N> out = {};
  for (int i = 0; i < N; ++i) out[i] = popcount(v[i]);
  return out;
}
constexpr uint mulhi(uint a, uint b) { return static_cast<uint>((static_cast<ulong>(a) * b) >> 32); }
constexpr int mulhi(int a, int b) { return static_cast<int>((static_cast<long>(a) * b) >> 32); }
constexpr ulong mulhi(ulong a, ulong b) { return static_cast<ulong>((static_cast<unsigned __int128>(a) * b) >> 64); }
constexpr uint absdiff(int a, int b) { return static_cast<uint>(a < b ? b - a : a - b); }
constexpr uint absdiff(uint a, uint b) { return a < b ? b - a : a - b; }

// <metal_limits>
template <typename T>
struct numeric_limits;

#define MSL_INTEGER_LIMITS(T, LOW, HIGH)        \
  template <>                                   \
  struct numeric_limits<T> {                    \
    static constexpr T min() { return LOW; }    \
    static constexpr T lowest() { return LOW; } \
    static constexpr T max() { return HIGH; }   \
  };
MSL_INTEGER_LIMITS(char, -128, 127)
MSL_INTEGER_LIMITS(uchar, 0, 255)
MSL_INTEGER_LIMITS(short, -32768, 32767)
MSL_INTEGER_LIMITS(ushort, 0, 65535)
MSL_INTEGER_LIMITS(int, -2147483647 - 1, 2147483647)
MSL_INTEGER_LIMITS(uint, 0, 4294967295u)
MSL_INTEGER_LIMITS(long, -9223372036854775807l - 1, 9223372036854775807l)
MSL_INTEGER_LIMITS(ulong, 0, 18446744073709551615ul)

#define MSL_FLOAT_LIMITS(T, SMALLEST, LARGEST, STEP)                 \
  template <>                                                        \
  struct numeric_limits<T> {                                         \
    static constexpr T min() { return T(SMALLEST); }                 \
    static constexpr T lowest() { return T(-LARGEST); }              \
    static constexpr T max() { return T(LARGEST); }                  \
    static constexpr T epsilon() { return T(STEP); }                 \
    static constexpr T infinity() { return T(__builtin_inff()); }    \
    static constexpr T quiet_NaN() { return T(__builtin_nanf("")); } \
  };
MSL_FLOAT_LIMITS(float, 0x1p-126f, 0x1.fffffep127f, 0x1p-23f)
MSL_FLOAT_LIMITS(half, 0x1p-14f, 65504.0f, 0x1p-10f)
MSL_FLOAT_LIMITS(bfloat, 0x1p-126f, 0x1.fep127f, 0x1p-7f)

// <metal_type_traits>
template <typename A, typename B>
constexpr bool is_same_v = IsSame<A, B>::kValue;
template <typename A, typename B>
struct is_same {
  static constexpr bool value = IsSame<A, B>::kValue;
};
template <bool condition, typename T = void>
struct enable_if {};
template <typename T>
struct enable_if<true, T> {
  using type = T;
};
template <bool condition, typename T = void>
using enable_if_t = typename enable_if<condition, T>::type;
template <bool condition, typename A, typename B>
struct conditional {
  using type = A;
};
template <typename A, typename B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool condition, typename A, typename B>
using conditional_t = typename conditional<condition, A, B>::type;

}  // namespace metal
