#pragma once

// Tensor cores and asynchronous copies: bf16 matrices with float32 sums, and byte matrices with integer sums.

namespace nvidia {

/** Waits for the results of earlier kernels; before that, a kernel reads only weights. From sm_90 on, it starts before they end. */
inline void wait_for_inputs() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}

/** Words of a weight, which is constant during a step: one load through the read-only cache. `words`: 1, 2 or 4. */
template <int words>
inline void load_weights(const void* at, unsigned* out) {
  const auto from = (__attribute__((address_space(1))) const void*)at;
  if (words == 4) {
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "l"(from));
  } else if (words == 2) {
    asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(out[0]), "=r"(out[1]) : "l"(from));
  } else {
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(out[0]) : "l"(from));
  }
}

/** (word & mask) | bits in one instruction; the compiler would split it in two, because only one operand can be a constant. */
inline unsigned masked_or(unsigned word, unsigned mask, unsigned bits) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "r"(mask), "r"(bits));
  return result;
}

/** 16 bits of a weight's scales or biases, loaded in the same way. */
inline unsigned load_weight_scalar(const void* at) {
  unsigned short bits;
  asm("ld.global.nc.u16 %0, [%1];" : "=h"(bits) : "l"((__attribute__((address_space(1))) const void*)at));
  return bits;
}

/** Two numbers rounded to bf16, the first one in the lower half. */
inline unsigned bf16_pair(float first, float second) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

/** sums [16, 8] += rows [16, 16] times outputs [8, 16], in bf16. */
inline void multiply_accumulate(float (&sums)[4], const unsigned (&rows)[4], const unsigned (&outputs)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(outputs[0]), "r"(outputs[1]));
}

/** sums [16, 8] += rows [16, 32] times outputs [8, 32], of bytes: rows are unsigned, outputs are signed. */
inline void multiply_accumulate_bytes(int (&sums)[4], const unsigned (&rows)[4], const unsigned (&outputs)[2]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(outputs[0]), "r"(outputs[1]));
}

/**
 * Columns of a 16 × 8 matrix of 16-bit elements in threadgroup memory, in the layout of outputs in multiply_accumulate. Lane i of the first
 * 16 names row i, at a multiple of 16 bytes.
 */
inline void load_transposed(unsigned (&pairs)[2], const bfloat* row) {
  const auto address = static_cast<unsigned>(reinterpret_cast<unsigned long>((__attribute__((address_space(3))) const void*)row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(pairs[0]), "=r"(pairs[1]) : "r"(address) : "memory");
}

/** The shared address of threadgroup memory. */
inline unsigned shared_address(const void* at) {
  return static_cast<unsigned>(reinterpret_cast<unsigned long>((__attribute__((address_space(3))) const void*)at));
}

/** The global address of device memory. */
inline unsigned long global_address(const void* at) {
  return reinterpret_cast<unsigned long>((__attribute__((address_space(1))) const void*)at);
}

/**
 * A 16 × 16 matrix of 16-bit elements in threadgroup memory, in the layout of rows in multiply_accumulate. Lane i names columns 8 (i / 16)
 * .. of row i % 16, at a multiple of 16 bytes.
 */
inline void load_matrix(unsigned (&pairs)[4], const uchar* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
               : "r"(shared_address(row))
               : "memory");
}

/**
 * A 16 × 16 matrix of 16-bit elements in threadgroup memory, as two halves of 8 columns in the layout of outputs in multiply_accumulate,
 * left half first. Lanes name rows as for load_matrix.
 */
inline void load_matrix_transposed(unsigned (&pairs)[4], const uchar* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
               : "r"(shared_address(row))
               : "memory");
}

/** 2^x with a relative error of about 2e-7; results that are not normal numbers become 0. */
inline float exponential_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/** 1 / x with a relative error of about 1e-7; results that are not normal numbers become 0. */
inline float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/** a b + c for bf16 pairs, rounded once. */
inline unsigned fma_pair(unsigned a, unsigned b, unsigned c) {
  unsigned pair;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(pair) : "r"(a), "r"(b), "r"(c));
  return pair;
}

/** Four bytes of a (0 to 3) and b (4 to 7): the i-th hexadecimal digit of `selector` names byte i. */
inline unsigned select_bytes(unsigned a, unsigned b, unsigned selector) {
  unsigned bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(selector));
  return bytes;
}

/** Copies from device to threadgroup memory, both aligned to the size of the copy; complete after wait_copies and a barrier. */
inline void copy_16(uchar* to, const uchar* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared_address(to)), "l"(global_address(from)) : "memory");
}
inline void copy_4(uchar* to, const uchar* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(shared_address(to)), "l"(global_address(from)) : "memory");
}

/** The same if `exists`; otherwise nothing is read or written. */
inline void copy_16_if(bool exists, uchar* to, const uchar* from) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16; }"
               :
               : "r"(shared_address(to)), "l"(global_address(from)), "r"(unsigned(exists))
               : "memory");
}
inline void copy_8_if(bool exists, uchar* to, const uchar* from) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], 8; }"
               :
               : "r"(shared_address(to)), "l"(global_address(from)), "r"(unsigned(exists))
               : "memory");
}

/** Ends a batch of copies of this thread. */
inline void end_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }

/** Waits until at most `batches` batches of this thread are incomplete. */
template <int batches>
inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(batches) : "memory");
}

/**
 * The products of a warpgroup, four simdgroups in lockstep: begin_products, calls of multiply_warpgroup, end_products. They run
 * asynchronously on registers and threadgroup memory that must not be accessed until wait_products; copies that they read must be made
 * visible to them before a barrier.
 */
inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); }
inline void show_copies() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }

/** Waits until at most `batches` batches of products of this warpgroup are incomplete. */
template <int batches>
inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(batches) : "memory");
}

#define MARKBASE_SUMS_8(i)                                                                                                         \
  "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), "+f"(sums[i + 4]), "+f"(sums[i + 5]), "+f"(sums[i + 6]), \
      "+f"(sums[i + 7])
#define MARKBASE_SUMS_16(i) MARKBASE_SUMS_8(i), MARKBASE_SUMS_8(i + 8)
#define MARKBASE_SUMS_32(i) MARKBASE_SUMS_16(i), MARKBASE_SUMS_16(i + 16)
#define MARKBASE_SUMS_64(i) MARKBASE_SUMS_32(i), MARKBASE_SUMS_32(i + 32)

/**
 * sums [64, rows] += weights [64, 16] times rows [rows, 16], in bf16, where `rows` is 32, 64, 128 or 256. Each simdgroup supplies 16 weight
 * rows in the layout of rows in multiply_accumulate, and has their sums: sums 4 i .. for rows 8 i .., in its layout. `stage`, at a multiple
 * of 1024 bytes, has rows of 64 columns, whose 16-byte piece p is stored at index p ^ row % 8; the product takes columns 16 m ...
 */
template <int rows>
inline void multiply_warpgroup(float (&sums)[rows / 2], const unsigned (&weights)[4], const uchar* stage, int m) {
  // Eight rows are 1024 bytes; pieces are swapped within 128.
  const unsigned long matrix = (shared_address(stage) + 32 * m) / 16 | 1ul << 16 | 64ul << 32 | 1ul << 62;
  if constexpr (rows == 256) {
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, {%128, %129, %130, %131}, %132, p, 1, 1, 0; }"
        : MARKBASE_SUMS_64(0), MARKBASE_SUMS_64(64)
        : "r"(weights[0]), "r"(weights[1]), "r"(weights[2]), "r"(weights[3]), "l"(matrix));
  } else if constexpr (rows == 128) {
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, {%64, %65, %66, %67}, %68, p, 1, 1, 0; }"
        : MARKBASE_SUMS_64(0)
        : "r"(weights[0]), "r"(weights[1]), "r"(weights[2]), "r"(weights[3]), "l"(matrix));
  } else if constexpr (rows == 64) {
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, {%32, %33, %34, %35}, %36, p, 1, 1, 0; }"
        : MARKBASE_SUMS_32(0)
        : "r"(weights[0]), "r"(weights[1]), "r"(weights[2]), "r"(weights[3]), "l"(matrix));
  } else {
    static_assert(rows == 32);
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, {%16, %17, %18, %19}, %20, p, 1, 1, 0; }"
        : MARKBASE_SUMS_16(0)
        : "r"(weights[0]), "r"(weights[1]), "r"(weights[2]), "r"(weights[3]), "l"(matrix));
  }
}

}  // namespace nvidia
