/** moe_route: chooses the experts of every row by its logits. One simdgroup per row. */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "moe_route_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_route.h"

kernel void moe_route(constant MoeRouteParams& p [[buffer(0)]],
                      constant Launch& launch [[buffer(1)]],
                      device const float* logits [[buffer(2)]],
                      device const uchar* scales [[buffer(3)]],
                      device float* experts [[buffer(4)]],
                      device float* shares [[buffer(5)]],
                      uint row [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_threadgroup]]) {
  threadgroup float chosen[kMaxChosen], share[kMaxChosen];
  route_row(logits + ulong(row) * p.logits_stride, p.experts, p.top_k, scales + launch.shift[1], p.scale_type, p.logit_scale, chosen, share,
            lane);
  for (uint x = lane; x < p.top_k; x += kLanes) {
    experts[ulong(row) * p.experts_stride + x] = chosen[x];
    shares[ulong(row) * p.shares_stride + x] = share[x];
  }
}
