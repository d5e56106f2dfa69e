/** rope: rotates the pairs (i, i + width/2) of every head by the angles of its row; one thread per pair. */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "rope_params.h"

#pragma METAL fp contract(off)

kernel void rope(constant RopeParams& p [[buffer(0)]],
                 constant Launch& launch [[buffer(1)]],
                 device const float* x [[buffer(2)]],
                 device const float* table [[buffer(3)]],
                 device float* y [[buffer(4)]],
                 uint2 at [[thread_position_in_grid]]) {
  // With several axes, a head has one part per axis, each with its own part of the table.
  const uint part_width = p.width / p.axes, pairs = part_width / 2;
  if (at.x >= p.heads * p.axes * pairs || at.y >= launch.rows) return;
  const uint part = at.x / pairs, i = at.x % pairs;
  device const float* from = x + ulong(at.y) * p.x_stride + part * part_width;
  device float* to = y + ulong(at.y) * p.y_stride + part * part_width;
  device const float* angles = table + ulong(at.y) * p.width + part % p.axes * part_width;
  const float first = from[i], second = from[pairs + i];
  const float cosine = angles[i], sine = angles[pairs + i];
  to[i] = first * cosine - second * sine;
  to[pairs + i] = second * cosine + first * sine;
}
