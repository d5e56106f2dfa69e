#pragma once

#include "call.h"

/** Rows grouped by expert: built once per command from the experts that the rows chose. */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

/**
 * The choices of all rows, sorted by expert and then by row. A choice is the number row * top_k + x; its place is its index in this order.
 */
struct ExpertGroups {
  uint32_t* begin;   ///< [experts + 1] first place of an expert
  uint32_t* active;  ///< [experts] those that at least one row chose, ascending
  uint32_t* place;   ///< [rows * top_k] place of a choice
  uint32_t* choice;  ///< [rows * top_k] choice at a place
  uint32_t* counts;  ///< [1] number of active experts

  static size_t bytes(uint32_t experts, uint32_t choices) { return sizeof(uint32_t) * (size_t{2} * experts + 2 + size_t{2} * choices); }

  static ExpertGroups at(std::byte* memory, uint32_t experts, uint32_t choices) {
    auto* words = reinterpret_cast<uint32_t*>(memory);
    return {words, words + experts + 1, words + 2 * experts + 2, words + 2 * experts + 2 + choices, words + 2 * experts + 1};
  }

  uint32_t active_count() const { return counts[0]; }
  uint32_t rows_of(uint32_t expert) const { return begin[expert + 1] - begin[expert]; }
};

/** Sorts the choices of `rows` rows; `chosen` is [rows, top_k] expert numbers as floats. */
inline void sort_by_expert(
    const float* chosen, uint32_t stride, uint32_t rows, uint32_t top_k, uint32_t experts, const ExpertGroups& groups) {
  const auto expert_of = [&](uint32_t row, uint32_t x) { return static_cast<uint32_t>(chosen[size_t{row} * stride + x]); };
  for (uint32_t e = 0; e <= experts; ++e) groups.begin[e] = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t x = 0; x < top_k; ++x) ++groups.begin[expert_of(row, x) + 1];
  }
  groups.counts[0] = 0;
  for (uint32_t e = 0; e < experts; ++e) {
    if (groups.begin[e + 1] > 0) groups.active[groups.counts[0]++] = e;
    groups.begin[e + 1] += groups.begin[e];
  }
  // `begin` advances while places are assigned, and is restored afterwards.
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t x = 0; x < top_k; ++x) {
      const uint32_t choice = row * top_k + x;
      const uint32_t place = groups.begin[expert_of(row, x)]++;
      groups.place[choice] = place;
      groups.choice[place] = choice;
    }
  }
  for (uint32_t e = experts; e > 0; --e) groups.begin[e] = groups.begin[e - 1];
  groups.begin[0] = 0;
}

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
