#pragma once

/** Tiles of the choices of an expert, which moe_sort makes. The including file has metal_stdlib. */

/** Tiles of `tile_choices` that choices make at most: each expert may have one that is not full. */
template <uint tile_choices>
inline uint most_tiles(uint choices, uint experts) {
  return min(choices / tile_choices + experts, choices);
}
