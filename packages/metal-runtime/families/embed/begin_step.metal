/**
 * begin_step: up to two embeddings and two rope tables in one dispatch. They are independent of each other and of earlier work, so a
 * decoder begins every step with one dispatch instead of four. One thread per element.
 */
#include <metal_stdlib>
using namespace metal;

#include "embed_params.h"
#include "launch.h"
#include "rope_table/rope_table_params.h"
#include "scalar_type.h"
#include "begin_step.h"
#include "metal_storage.h"
#include "rope_table/metal_angle.h"
#include "metal_embed.h"

kernel void begin_step(constant BeginStepParams& p [[buffer(0)]],
                       constant Launch& launch [[buffer(1)]],
                       device const uchar* weight0 [[buffer(2)]],
                       device const uchar* scales0 [[buffer(3)]],
                       device const uchar* biases0 [[buffer(4)]],
                       device const float* soft0 [[buffer(5)]],
                       device float* embedded0 [[buffer(6)]],
                       device const uchar* weight1 [[buffer(7)]],
                       device const uchar* scales1 [[buffer(8)]],
                       device const uchar* biases1 [[buffer(9)]],
                       device const float* soft1 [[buffer(10)]],
                       device float* embedded1 [[buffer(11)]],
                       device const float* frequencies0 [[buffer(12)]],
                       device float* table0 [[buffer(13)]],
                       device const float* frequencies1 [[buffer(14)]],
                       device float* table1 [[buffer(15)]],
                       device const int* ids0 [[buffer(24)]],
                       device const int* ids1 [[buffer(25)]],
                       device const int* soft_index [[buffer(26)]],
                       device const int* position [[buffer(27)]],
                       uint2 group [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint2 threads [[threads_per_threadgroup]]) {
  const uint row = group.y;
  uint part = 0;
  while (part < 3 && group.x >= p.end[part]) ++part;
  const uint first = part == 0 ? 0 : p.end[part - 1];
  const uint column = (group.x - first) * threads.x + thread_index;
  if (part < 2) {
    if (column >= p.embed[part].width) return;
    const uint shift = 5 * part;
    const EmbedTable table = {(part == 0 ? weight0 : weight1) + launch.shift[shift],
                              (part == 0 ? scales0 : scales1) + launch.shift[shift + 1],
                              (part == 0 ? biases0 : biases1) + launch.shift[shift + 2], part == 0 ? soft0 : soft1};
    device float* y = (part == 0 ? embedded0 : embedded1) + ulong(row) * p.embed[part].width;
    y[column] = embed_element(p.embed[part], table, uint((part == 0 ? ids0 : ids1)[row]), soft_index[row], column);
    return;
  }
  const uint pairs = p.table[part - 2].pairs;
  if (column >= pairs) return;
  const float2 turned = cosine_and_sine(float(position[row]) * (part == 2 ? frequencies0 : frequencies1)[column]);
  device float* y = (part == 2 ? table0 : table1) + ulong(row) * 2 * pairs;
  y[column] = turned.x;
  y[pairs + column] = turned.y;
}
