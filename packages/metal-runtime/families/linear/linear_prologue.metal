/**
 * linear_prologue: the prologue of a linear of several rows, one threadgroup per row: h for the commands that follow, and the
 * normalised rows for the products. It calls the functions of linear.metal, so that the bits are the same.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_norm.h"
#include "metal_prologue.h"

kernel void linear_prologue(constant LinearParams& p [[buffer(0)]],
                            constant Launch& launch [[buffer(1)]],
                            device const float* x [[buffer(2)]],
                            device const float* residual [[buffer(3)]],
                            device const uchar* residual_gain [[buffer(4)]],
                            device float* h [[buffer(5)]],
                            device const uchar* norm_gain [[buffer(6)]],
                            device float* prepared [[buffer(22)]],
                            device const int* output_row [[buffer(24)]],
                            threadgroup float* shared_row [[threadgroup(0)]],
                            uint row [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float partial[kRowSimdgroups];
  const SharedRow<8> source = {shared_row, SharedRow<8>::chunks_of(p.in)};
  const ulong from = p.gathers != 0 ? output_row[row] : row;
  prepare_row(p, launch.shift[2], launch.shift[4], x + from * p.x_stride, residual + from * p.residual_stride, residual_gain,
              h + ulong(row) * p.h_stride, true, norm_gain, source, partial, thread_index);
  if (p.has_norm == 0) return;
  for (uint i = thread_index; i < p.in; i += kRowThreads) prepared[ulong(row) * launch.x_stride + i] = source.at(i);
}
