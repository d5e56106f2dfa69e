#pragma once

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

// Long because Metal has one standard library: its declarations with real address spaces, in C++ for OpenCL, for a compiler that
// only checks.

// The language has its own types with these names.
#define atomic_int msl_atomic_int
#define atomic_uint msl_atomic_uint
#define atomic_ulong msl_atomic_ulong
#define atomic_float msl_atomic_float
#define atomic_bool msl_atomic_bool

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long;
using uint64_t = unsigned long;
using size_t = unsigned long;
using ptrdiff_t = long;
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

/** 16 bits with the exponent of a float. */
struct bfloat {
  ushort bits;
  bfloat() = default;
  explicit constexpr bfloat(float) : bits(0) {}
  constexpr operator float() const { return 0.0f; }
};

namespace metal {

template <typename T>
struct StorageOf {
  using Type = T;
};
template <>
struct StorageOf<bool> {
  using Type = int;
};
// Vectors of structures do not exist, so vectors of bfloat hold another 16-bit type.
template <>
struct StorageOf<bfloat> {
  using Type = half;
};

template <typename T, int N>
using vec = typename StorageOf<T>::Type __attribute__((ext_vector_type(N)));
template <typename T, int N>
using ext = T __attribute__((ext_vector_type(N)));

#define MSL_VECTORS(T)    \
  using T##2 = vec<T, 2>; \
  using T##3 = vec<T, 3>; \
  using T##4 = vec<T, 4>;
MSL_VECTORS(char)
MSL_VECTORS(uchar)
MSL_VECTORS(short)
MSL_VECTORS(ushort)
MSL_VECTORS(int)
MSL_VECTORS(uint)
MSL_VECTORS(long)
MSL_VECTORS(ulong)
MSL_VECTORS(float)
MSL_VECTORS(half)
MSL_VECTORS(bfloat)
MSL_VECTORS(bool)

template <typename T>
struct VectorTraits {
  static constexpr int kSize = 1;
  using Element = T;
};
template <typename T, int N>
struct VectorTraits<ext<T, N>> {
  static constexpr int kSize = N;
  using Element = T;
};
template <typename T>
struct Identity {
  using Type = T;
};

template <typename T, int N>
struct PackedVector {
  T elements[N];
  PackedVector() = default;
  constexpr PackedVector(ext<T, N>) {}
  constexpr operator ext<T, N>() const { return {}; }
};
#define MSL_PACKED(T)                       \
  using packed_##T##2 = PackedVector<T, 2>; \
  using packed_##T##3 = PackedVector<T, 3>; \
  using packed_##T##4 = PackedVector<T, 4>;
MSL_PACKED(uchar)
MSL_PACKED(ushort)
MSL_PACKED(int)
MSL_PACKED(uint)
MSL_PACKED(float)
MSL_PACKED(half)

template <typename To, typename From>
constexpr To as_type(From) {
  static_assert(sizeof(To) == sizeof(From), "as_type: both types have the same size");
  return To{};
}

// Overloads by type, never templates over scalars: a call that mixes types is ambiguous, as in Metal.
#define MSL_UNARY(NAME)              \
  float NAME(float);                 \
  half NAME(half);                   \
  template <int N>                   \
  ext<float, N> NAME(ext<float, N>); \
  template <int N>                   \
  ext<half, N> NAME(ext<half, N>);
#define MSL_BINARY(NAME)                            \
  float NAME(float, float);                         \
  half NAME(half, half);                            \
  template <int N>                                  \
  ext<float, N> NAME(ext<float, N>, ext<float, N>); \
  template <int N>                                  \
  ext<half, N> NAME(ext<half, N>, ext<half, N>);
#define MSL_FLOAT_FUNCTIONS       \
  MSL_UNARY(exp)                  \
  MSL_UNARY(exp2)                 \
  MSL_UNARY(exp10)                \
  MSL_UNARY(log)                  \
  MSL_UNARY(log2)                 \
  MSL_UNARY(log10)                \
  MSL_UNARY(sqrt)                 \
  MSL_UNARY(rsqrt)                \
  MSL_UNARY(sin)                  \
  MSL_UNARY(cos)                  \
  MSL_UNARY(tan)                  \
  MSL_UNARY(sinh)                 \
  MSL_UNARY(cosh)                 \
  MSL_UNARY(tanh)                 \
  MSL_UNARY(asin)                 \
  MSL_UNARY(acos)                 \
  MSL_UNARY(atan)                 \
  MSL_UNARY(asinh)                \
  MSL_UNARY(acosh)                \
  MSL_UNARY(atanh)                \
  MSL_UNARY(sinpi)                \
  MSL_UNARY(cospi)                \
  MSL_UNARY(floor)                \
  MSL_UNARY(ceil)                 \
  MSL_UNARY(trunc)                \
  MSL_UNARY(round)                \
  MSL_UNARY(rint)                 \
  MSL_UNARY(fabs)                 \
  MSL_UNARY(fract)                \
  MSL_BINARY(pow)                 \
  MSL_BINARY(powr)                \
  MSL_BINARY(fmod)                \
  MSL_BINARY(atan2)               \
  MSL_BINARY(divide)              \
  MSL_BINARY(fmin)                \
  MSL_BINARY(fmax)                \
  MSL_BINARY(copysign)            \
  MSL_BINARY(fdim)                \
  MSL_BINARY(step)                \
  float fma(float, float, float); \
  half fma(half, half, half);     \
  template <typename T, int N>    \
  ext<T, N> fma(ext<T, N>, ext<T, N>, ext<T, N>);
MSL_FLOAT_FUNCTIONS

#define MSL_SCALARS(APPLY) \
  APPLY(char) APPLY(int8_t) APPLY(uchar) APPLY(short) APPLY(ushort) APPLY(int) APPLY(uint) APPLY(long) APPLY(ulong) APPLY(float) APPLY(half)
#define MSL_MIN_MAX(T)                                                                  \
  constexpr T min(T a, T b) { return b < a ? b : a; }                                   \
  constexpr T max(T a, T b) { return a < b ? b : a; }                                   \
  constexpr T clamp(T x, T low, T high) { return x < low ? low : high < x ? high : x; } \
  T min3(T, T, T);                                                                      \
  T max3(T, T, T);                                                                      \
  T select(T, T, bool);
MSL_SCALARS(MSL_MIN_MAX)
#define MSL_FLOAT_COMMON(T) \
  T saturate(T);            \
  T mix(T, T, T);           \
  T sign(T);                \
  T abs(T);                 \
  T smoothstep(T, T, T);    \
  bool isnan(T);            \
  bool isinf(T);            \
  bool isfinite(T);         \
  bool isnormal(T);         \
  bool signbit(T);
MSL_FLOAT_COMMON(float) MSL_FLOAT_COMMON(half) short abs(short);
int abs(int);
long abs(long);
namespace precise {
MSL_FLOAT_FUNCTIONS
}
namespace fast {
MSL_FLOAT_FUNCTIONS
}
float ldexp(float, int);
float sincos(float, __private float& cosine);
float frexp(float, __private int& exponent);
float modf(float, __private float& whole);

template <typename T, int N>
ext<T, N> min(ext<T, N>, ext<T, N>);
template <typename T, int N>
ext<T, N> max(ext<T, N>, ext<T, N>);
template <typename T, int N>
ext<T, N> min(ext<T, N>, typename Identity<T>::Type);
template <typename T, int N>
ext<T, N> max(ext<T, N>, typename Identity<T>::Type);
template <typename T, int N>
ext<T, N> clamp(ext<T, N>, ext<T, N>, ext<T, N>);
template <typename T, int N>
ext<T, N> clamp(ext<T, N>, typename Identity<T>::Type, typename Identity<T>::Type);
template <typename T, int N>
ext<T, N> mix(ext<T, N>, ext<T, N>, ext<T, N>);
template <typename T, typename M, int N>
ext<T, N> select(ext<T, N>, ext<T, N>, ext<M, N>);
template <typename T, int N>
ext<T, N> abs(ext<T, N>);
template <typename T, int N>
ext<T, N> sign(ext<T, N>);
template <typename M, int N>
bool any(ext<M, N>);
template <typename M, int N>
bool all(ext<M, N>);
template <typename T, int N>
T dot(ext<T, N>, ext<T, N>);
template <typename T, int N>
T length(ext<T, N>);
template <typename T, int N>
T length_squared(ext<T, N>);
template <typename T, int N>
T distance(ext<T, N>, ext<T, N>);
template <typename T, int N>
ext<T, N> normalize(ext<T, N>);

#define MSL_BITS(T)              \
  T popcount(T);                 \
  T clz(T);                      \
  T ctz(T);                      \
  T reverse_bits(T);             \
  T rotate(T, T);                \
  T extract_bits(T, uint, uint); \
  T insert_bits(T, T, uint, uint);
MSL_BITS(uchar)
MSL_BITS(short)
MSL_BITS(ushort)
MSL_BITS(int)
MSL_BITS(uint)
MSL_BITS(long)
MSL_BITS(ulong)
uint mulhi(uint, uint);
int mulhi(int, int);
ulong mulhi(ulong, ulong);
uint absdiff(int, int);
uint absdiff(uint, uint);

template <typename T>
struct numeric_limits {
  static constexpr T min() { return T(0); }
  static constexpr T lowest() { return T(0); }
  static constexpr T max() { return T(0); }
  static constexpr T epsilon() { return T(0); }
  static constexpr T infinity() { return T(0); }
  static constexpr T quiet_NaN() { return T(0); }
};

template <typename A, typename B>
struct is_same {
  static constexpr bool value = false;
};
template <typename A>
struct is_same<A, A> {
  static constexpr bool value = true;
};
template <typename A, typename B>
constexpr bool is_same_v = is_same<A, B>::value;
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

enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);

// Simdgroup functions take values, without an address space: numbers and vectors of 8 to 64 bits per element.
template <typename T>
struct IsExchangeable {
  static constexpr bool kValue = false;
};
#define MSL_EXCHANGEABLE(T)              \
  template <>                            \
  struct IsExchangeable<T> {             \
    static constexpr bool kValue = true; \
  };
MSL_SCALARS(MSL_EXCHANGEABLE)
MSL_EXCHANGEABLE(bool)
MSL_EXCHANGEABLE(bfloat)
template <typename T, int N>
struct IsExchangeable<ext<T, N>> {
  static constexpr bool kValue = true;
};
#define MSL_SIMD(NAME)  \
  template <typename T> \
  enable_if_t<IsExchangeable<T>::kValue, T> NAME(T);
MSL_SIMD(simd_sum)
MSL_SIMD(simd_product)
MSL_SIMD(simd_max)
MSL_SIMD(simd_min)
MSL_SIMD(simd_and)
MSL_SIMD(simd_or)
MSL_SIMD(simd_xor)
MSL_SIMD(simd_prefix_inclusive_sum)
MSL_SIMD(simd_prefix_exclusive_sum)
MSL_SIMD(simd_prefix_inclusive_product)
MSL_SIMD(simd_prefix_exclusive_product)
MSL_SIMD(simd_broadcast_first)
MSL_SIMD(quad_sum)
MSL_SIMD(quad_max)
bool simd_all(bool);
bool simd_any(bool);
bool simd_is_first();
#define MSL_SHUFFLE(NAME) \
  template <typename T>   \
  enable_if_t<IsExchangeable<T>::kValue, T> NAME(T, ushort);
MSL_SHUFFLE(simd_shuffle)
MSL_SHUFFLE(simd_broadcast)
MSL_SHUFFLE(simd_shuffle_xor)
MSL_SHUFFLE(simd_shuffle_up)
MSL_SHUFFLE(simd_shuffle_down)
MSL_SHUFFLE(simd_shuffle_rotate_up)
MSL_SHUFFLE(simd_shuffle_rotate_down)
MSL_SHUFFLE(quad_shuffle)
MSL_SHUFFLE(quad_broadcast)
MSL_SHUFFLE(quad_shuffle_xor)
struct simd_vote {
  using vote_t = ulong;
  ulong bits;
  explicit operator ulong() const;
};
simd_vote simd_ballot(bool);

template <typename T, int columns, int rows>
struct simdgroup_matrix {
  static_assert(columns == 8 && rows == 8, "simdgroup_matrix: only 8 by 8");
  static_assert(is_same_v<T, float> || is_same_v<T, half> || is_same_v<T, bfloat>, "simdgroup_matrix: float, half or bfloat");
  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T);
  __private vec<T, 2>& thread_elements();
};
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
template <typename T, int columns, int rows>
simdgroup_matrix<T, columns, rows> make_filled_simdgroup_matrix(T);
#define MSL_MATRIX_MEMORY(SPACE)                                                                                   \
  template <typename T>                                                                                            \
  void simdgroup_load(__private simdgroup_matrix<T, 8, 8>&, SPACE const T*, ulong = 8, ulong2 = {}, bool = false); \
  template <typename T>                                                                                            \
  void simdgroup_store(simdgroup_matrix<T, 8, 8>, SPACE T*, ulong = 8, ulong2 = {}, bool = false);
MSL_MATRIX_MEMORY(__global)
MSL_MATRIX_MEMORY(__local)
template <typename D, typename A, typename B, typename C>
void simdgroup_multiply_accumulate(__private simdgroup_matrix<D, 8, 8>&,
                                   simdgroup_matrix<A, 8, 8>,
                                   simdgroup_matrix<B, 8, 8>,
                                   simdgroup_matrix<C, 8, 8>);
template <typename D, typename A, typename B>
void simdgroup_multiply(__private simdgroup_matrix<D, 8, 8>&, simdgroup_matrix<A, 8, 8>, simdgroup_matrix<B, 8, 8>);

// Tensors of Metal 4: the part that packages/metal-sim/msl/include/tensor.h simulates.
struct tensor_inline {};
template <typename Index, size_t rank>
struct dextents {
  static_assert(rank == 2, "dextents: only two dimensions are simulated");
  dextents(Index, Index);
};
template <size_t size>
struct execution_simdgroups {};
using execution_simdgroup = execution_simdgroups<1>;
template <typename T, typename Extents, typename Descriptor>
struct tensor {
  static_assert(is_same_v<Descriptor, tensor_inline>, "tensor: only tensor_inline is simulated");
  tensor(T*, Extents);
};
template <typename T>
struct cooperative_tensor {
  uint16_t get_capacity() const;
  T& operator[](uint16_t);
  template <typename Element, typename Extents>
  void store(__private tensor<Element, Extents, tensor_inline>&);
};

enum memory_order { memory_order_relaxed };
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };
template <typename T>
struct atomic {
 private:
  T value;
};
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_ulong = atomic<ulong>;
using atomic_float = atomic<float>;
void atomic_thread_fence(mem_flags, memory_order, thread_scope = thread_scope_device);
#define MSL_ATOMIC(SPACE, NAME) \
  template <typename T>         \
  T NAME(volatile SPACE atomic<T>*, typename Identity<T>::Type, memory_order);
#define MSL_ATOMICS(SPACE)                                                                                                      \
  template <typename T>                                                                                                         \
  T atomic_load_explicit(const volatile SPACE atomic<T>*, memory_order);                                                        \
  template <typename T>                                                                                                         \
  void atomic_store_explicit(volatile SPACE atomic<T>*, typename Identity<T>::Type, memory_order);                              \
  template <typename T>                                                                                                         \
  bool atomic_compare_exchange_weak_explicit(volatile SPACE atomic<T>*, __private T*, typename Identity<T>::Type, memory_order, \
                                             memory_order);                                                                     \
  MSL_ATOMIC(SPACE, atomic_exchange_explicit)                                                                                   \
  MSL_ATOMIC(SPACE, atomic_fetch_add_explicit)                                                                                  \
  MSL_ATOMIC(SPACE, atomic_fetch_sub_explicit)                                                                                  \
  MSL_ATOMIC(SPACE, atomic_fetch_and_explicit)                                                                                  \
  MSL_ATOMIC(SPACE, atomic_fetch_or_explicit)                                                                                   \
  MSL_ATOMIC(SPACE, atomic_fetch_xor_explicit)                                                                                  \
  MSL_ATOMIC(SPACE, atomic_fetch_min_explicit)                                                                                  \
  MSL_ATOMIC(SPACE, atomic_fetch_max_explicit)
MSL_ATOMICS(__global) MSL_ATOMICS(__local)

}  // namespace metal

namespace mpp::tensor_ops {

struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  bool is_whole;
  constexpr matmul2d_descriptor(int m, int n, int k, bool = false, bool = false, bool = false, mode = mode::multiply)
      : is_whole(k > 0 && (m % 16 == 0 || n % 16 == 0)) {}
  // The language does not allow structures as template arguments.
  constexpr operator bool() const { return is_whole; }
};

template <bool descriptor, typename Scope>
struct matmul2d {
  static_assert(descriptor, "matmul2d: a depth is given, and m or n is a multiple of 16");
  template <typename Left, typename Right, typename T>
  metal::cooperative_tensor<T> get_destination_cooperative_tensor() const;
  template <typename Left, typename Right, typename T>
  void run(__private Left&, __private Right&, __private metal::cooperative_tensor<T>&) const;
};

}  // namespace mpp::tensor_ops

namespace msl {

using metal::VectorTraits;

template <typename To, typename... From>
constexpr To make(From... from) {
  constexpr int pieces = (VectorTraits<From>::kSize + ... + 0);
  if constexpr (VectorTraits<To>::kSize == 1) {
    return To(from...);
  } else {
    static_assert(pieces <= 1 || pieces == VectorTraits<To>::kSize, "a vector is made of as many elements as it has");
    return To{};
  }
}

template <typename To, typename From>
constexpr To cast(From from) {
  if constexpr (VectorTraits<To>::kSize == 1) {
    return static_cast<To>(from);
  } else {
    static_assert(VectorTraits<From>::kSize == VectorTraits<To>::kSize, "a vector is converted to one of the same size");
    return To{};
  }
}

template <typename T, uint id>
__local T* threadgroup_variable(__constant const char* name, uint line);

}  // namespace msl
