#pragma once

/**
 * The tile of a threadgroup in a linear for many rows, and the epilogue of its products. Metal only; the including file has
 * metal_stdlib, linear_params.h, metal_math.h, metal_tile.h and metal_linear_epilogue.h.
 */

#pragma METAL fp contract(off)

/** The tile of a threadgroup. In a pair, the first half of the tile is the gate, the second half the same outputs of up. */
struct Tile {
  bool is_pair;
  uint weight;   ///< weight of the outputs; 0 for a pair
  uint outputs;  ///< of this weight in the tile
  uint first_output;
  uint first_row;
  uint out;  ///< rows of the weight
};

/** The tile of a threadgroup, of rows × outputs: the grid lists the blocks of outputs of all weights consecutively. */
template <uint rows, uint tile_outputs>
inline Tile tile_at(constant LinearParams& p, uint2 at) {
  const bool is_pair = p.epilogue == kLinearGeglu;
  const uint outputs = is_pair ? tile_outputs / 2 : tile_outputs;
  uint weight = 0, block = at.x;
  while (!is_pair && weight + 1 < p.weights) {
    const uint blocks = (p.weight[weight].out + outputs - 1) / outputs;
    if (block < blocks) break;
    block -= blocks;
    ++weight;
  }
  return {is_pair, weight, outputs, block * outputs, at.y * rows, p.weight[weight].out};
}

/** The weight that a weight row of the tile belongs to. */
inline uint weight_of_row(Tile tile, uint row) { return tile.is_pair ? row / tile.outputs : tile.weight; }

/** Applies the epilogue to the existing outputs of kTileRows rows; y: of the tile's weight. `tile_outputs`: outputs per row of products. */
template <uint tile_outputs>
inline void store_tile(constant LinearParams& p,
                       Tile tile,
                       uint rows,
                       threadgroup const float* products,
                       device const float* operand,
                       device float* y,
                       uint thread_index) {
  for (uint i = thread_index; i < kTileRows * tile.outputs; i += kTileThreads) {
    const uint r = i / tile.outputs, n = i % tile.outputs;
    const uint row = tile.first_row + r, output = tile.first_output + n;
    if (row >= rows || output >= tile.out) continue;
    const float up = tile.is_pair ? products[r * tile_outputs + tile.outputs + n] : 0.0f;
    const float product = finish_product(p, tile.weight, products[r * tile_outputs + n], up, operand, row, output);
    y[ulong(row) * p.weight[tile.weight].y_stride + output] = product;
  }
}
