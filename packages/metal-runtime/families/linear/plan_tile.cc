#include "plan_rows.h"

namespace markbase::gpu {

namespace {

/** Tile sizes of linear_tile.metal and linear_tensor.metal. */
constexpr LinearTiling kTile = {"linear_tile", "linear_tile_", 32, 64, 128};

bool takes(const LinearProduct& product) { return product.rows != nullptr && is_tiled(product.context, product.p); }

void plan(const LinearProduct& product) { plan_tiling(product, kTile); }

}  // namespace

const LinearStrategy kTileLinear = {takes, plan};

}  // namespace markbase::gpu
