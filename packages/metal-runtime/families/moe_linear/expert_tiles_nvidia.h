#pragma once

/** Tiles of the choices of an expert, built by moe_sort. The including file has metal_stdlib. */

/** Maximum number of tiles of `tile_choices` choices: each expert may have one that is not full. */
template <uint tile_choices>
inline uint most_tiles(uint choices, uint experts) {
  return min(choices / tile_choices + experts, choices);
}
