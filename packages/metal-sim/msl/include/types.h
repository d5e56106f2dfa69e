#pragma once

#include "abi.h"

// Metal's scalars and vectors as clang's own types: the compiler provides swizzles and arithmetic.

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
using uintptr_t = unsigned long;
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using half = _Float16;
using bfloat = __bf16;

namespace metal {

/** A vector of booleans holds integers: 0 is false. */
template <typename T>
struct StorageOf {
  using Type = T;
};
template <>
struct StorageOf<bool> {
  using Type = int;
};

template <typename T, int N>
using vec = typename StorageOf<T>::Type __attribute__((ext_vector_type(N)));

template <typename T, int N>
using ext = T __attribute__((ext_vector_type(N)));

#define MSL_VECTORS(T)    \
  using T##2 = vec<T, 2>; \
  using T##3 = vec<T, 3>; \
  using T##4 = vec<T, 4>;

#define MSL_ALL_VECTORS \
  MSL_VECTORS(char)     \
  MSL_VECTORS(uchar)    \
  MSL_VECTORS(short)    \
  MSL_VECTORS(ushort)   \
  MSL_VECTORS(int)      \
  MSL_VECTORS(uint)     \
  MSL_VECTORS(long)     \
  MSL_VECTORS(ulong)    \
  MSL_VECTORS(float)    \
  MSL_VECTORS(half)     \
  MSL_VECTORS(bfloat)   \
  MSL_VECTORS(bool)

MSL_ALL_VECTORS

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

template <typename A, typename B>
struct IsSame {
  static constexpr bool kValue = false;
};
template <typename A>
struct IsSame<A, A> {
  static constexpr bool kValue = true;
};

template <typename T>
struct Identity {
  using Type = T;
};

template <bool condition, typename T = void>
struct EnableIf {};
template <typename T>
struct EnableIf<true, T> {
  using Type = T;
};

/** Vectors without padding, for structures in memory: three floats are 12 bytes. */
template <typename T, int N>
struct PackedVector {
  T elements[N];
  PackedVector() = default;
  constexpr PackedVector(ext<T, N> value) {
    for (int i = 0; i < N; ++i) elements[i] = value[i];
  }
  constexpr operator ext<T, N>() const {
    ext<T, N> value;
    for (int i = 0; i < N; ++i) value[i] = elements[i];
    return value;
  }
  constexpr T& operator[](int i) { return elements[i]; }
  constexpr const T& operator[](int i) const { return elements[i]; }
};

#define MSL_PACKED(T)                       \
  using packed_##T##2 = PackedVector<T, 2>; \
  using packed_##T##3 = PackedVector<T, 3>; \
  using packed_##T##4 = PackedVector<T, 4>;
MSL_PACKED(char)
MSL_PACKED(uchar)
MSL_PACKED(short)
MSL_PACKED(ushort)
MSL_PACKED(int)
MSL_PACKED(uint)
MSL_PACKED(float)
MSL_PACKED(half)
MSL_PACKED(bfloat)

}  // namespace metal

namespace msl {

using metal::VectorTraits;

template <typename Element, typename To, typename From>
constexpr void append(To& out, int& at, From from) {
  if constexpr (VectorTraits<From>::kSize == 1) {
    out[at++] = static_cast<Element>(from);
  } else {
    for (int i = 0; i < VectorTraits<From>::kSize; ++i) out[at++] = static_cast<Element>(from[i]);
  }
}

/** `To(from...)` with Metal's meaning: element by element, one scalar for all elements, or several parts concatenated. */
template <typename To, typename... From>
constexpr To make(From... from) {
  if constexpr (VectorTraits<To>::kSize == 1) {
    return To(from...);
  } else {
    using Element = typename VectorTraits<To>::Element;
    constexpr int pieces = (VectorTraits<From>::kSize + ... + 0);
    if constexpr (sizeof...(From) == 1 && pieces == 1) {
      return (To)(Element(from...));
    } else if constexpr (sizeof...(From) == 0) {
      return (To)(Element(0));
    } else {
      static_assert(pieces == VectorTraits<To>::kSize, "a vector is made of as many elements as it has");
      To out = {};
      int at = 0;
      (append<Element>(out, at, from), ...);
      return out;
    }
  }
}

/** static_cast that converts vectors element by element. */
template <typename To, typename From>
constexpr To cast(From&& from) {
  if constexpr (VectorTraits<To>::kSize == 1) {
    return static_cast<To>(static_cast<From&&>(from));
  } else {
    return make<To>(from);
  }
}

MSL_UNCHECKED_BEGIN

/** A position as the scalar or vector type of a kernel's parameter. `at`: x, y, z. */
template <typename P>
struct PositionOf {
  static P from(const unsigned* at) {
    using Element = typename VectorTraits<P>::Element;
    if constexpr (VectorTraits<P>::kSize == 1) {
      return static_cast<P>(at[0]);
    } else {
      P out = {};
      for (int i = 0; i < VectorTraits<P>::kSize; ++i) out[i] = static_cast<Element>(at[i]);
      return out;
    }
  }
};
MSL_UNCHECKED_END

}  // namespace msl
