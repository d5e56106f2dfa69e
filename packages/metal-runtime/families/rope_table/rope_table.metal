/**
 * rope_table: cosines and sines of position * frequency, [rows, 2 * pairs]; one thread per angle. The angle is one float32
 * product, as in the reference.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "rope_table_params.h"
#include "metal_angle.h"

kernel void rope_table(constant RopeTableParams& p [[buffer(0)]],
                       constant Launch& launch [[buffer(1)]],
                       device const float* frequencies [[buffer(2)]],
                       device float* y [[buffer(3)]],
                       device const int* position [[buffer(24)]],
                       uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.pairs || at.y >= launch.rows) return;
  const float2 turned = cosine_and_sine(float(position[at.y]) * frequencies[at.x]);
  device float* row = y + ulong(at.y) * 2 * p.pairs;
  row[at.x] = turned.x;
  row[p.pairs + at.x] = turned.y;
}
