/**
 * embed: y[r] = table[id[r]] * scale; rows with soft_index >= 0 are copies of soft tokens. One thread per element.
 */
#include <metal_stdlib>
using namespace metal;

#include "embed_params.h"
#include "launch.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_embed.h"

kernel void embed(constant EmbedParams& p [[buffer(0)]],
                  constant Launch& launch [[buffer(1)]],
                  device const uchar* weight [[buffer(2)]],
                  device const uchar* scales [[buffer(3)]],
                  device const uchar* biases [[buffer(4)]],
                  device const float* soft [[buffer(5)]],
                  device float* y [[buffer(6)]],
                  device const int* ids [[buffer(24)]],
                  device const int* soft_index [[buffer(25)]],
                  uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= launch.rows) return;
  const EmbedTable table = {weight + launch.shift[0], scales + launch.shift[1], biases + launch.shift[2], soft};
  y[ulong(at.y) * p.width + at.x] = embed_element(p, table, uint(ids[at.y]), soft_index[at.y], at.x);
}
