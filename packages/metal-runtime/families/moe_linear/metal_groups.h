#pragma once

/**
 * The choices of all rows, sorted by expert: [experts + 1] first place of an expert's choices, [experts + 1] first tile of an expert, then
 * the choices by place. A choice is the number row * top_k + x. Metal only; the including file has metal_stdlib.
 */

/** A tile: choices of one expert, from the place of the first one on. */
struct ExpertTile {
  uint expert;
  uint first_place;
  uint count;  ///< 0 beyond the last tile
};

/** The choices by place. */
inline device const uint* choices_by_place(device const uint* groups, uint experts) { return groups + 2 * (experts + 1); }

/** Tile `tile` of `size` choices; it belongs to the last expert whose tiles begin at or before it. */
inline ExpertTile find_tile(device const uint* groups, uint experts, uint tile, uint size) {
  device const uint* first_tile = groups + experts + 1;
  if (tile >= first_tile[experts]) return {0, 0, 0};
  uint expert = 0, above = experts;
  while (above - expert > 1) {
    const uint middle = (expert + above) / 2;
    if (first_tile[middle] <= tile) expert = middle;
    else above = middle;
  }
  const uint first_place = groups[expert] + (tile - first_tile[expert]) * size;
  return {expert, first_place, min(groups[expert + 1] - first_place, size)};
}
