/**
 * rope_table: y[r] = [cos a_0 .. cos a_{pairs-1}, sin a_0 .. sin a_{pairs-1}], a_i = float(position_r) * frequency_i.
 *
 * The angle is a float32, as the reference computes it; its cosine and sine are taken in double precision, because a
 * float32 reduction is wrong for the angles of long contexts. One item is one row.
 */
#include "rope_table_params.h"

#include <math.h>

#include "call.h"
#include "kernel_list.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[params_of<RopeTableParams>(call).row_set]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<RopeTableParams>(call);
  const float* frequency = buffer<const float>(call, 0);
  for (uint32_t row = begin; row < end; ++row) {
    const float position = static_cast<float>(call.step->position[p.row_set][row]);
    float* cosine = buffer<float>(call, 1) + size_t{row} * 2 * p.pairs;
    float* sine = cosine + p.pairs;
    for (uint32_t i = 0; i < p.pairs; ++i) {
      // Three quarters of a full-attention head do not rotate.
      const float angle = position * frequency[i];
      cosine[i] = angle == 0.0f ? 1.0f : static_cast<float>(::cos(static_cast<double>(angle)));
      sine[i] = angle == 0.0f ? 0.0f : static_cast<float>(::sin(static_cast<double>(angle)));
    }
  }
}

}  // namespace

const CpuKernel kRopeTable = {"rope_table", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
