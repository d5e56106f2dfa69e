/**
 * embed: y[r] = table[id[r]] * scale, [T, width]; rows with soft_index >= 0 are copies of soft tokens, unscaled.
 *
 * One item is one row; only that row of the table is read. An id outside the table gives a row of NaN, which no later result can hide; the
 * binding rejects such ids beforehand.
 */
#include "embed_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[kAllRows]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<EmbedParams>(call);
  const LinearCore& core = linear_core(kIsa);
  const WeightView table = {static_cast<WeightFormat>(p.format),
                            p.bits,
                            p.group,
                            static_cast<ScalarType>(p.scale_type),
                            p.vocabulary,
                            p.width,
                            buffer<const void>(call, 0),
                            buffer<const void>(call, 1),
                            buffer<const void>(call, 2)};
  const int32_t* ids = p.is_layer_table != 0 ? call.step->layer_token : call.step->token;
  for (uint32_t row = begin; row < end; ++row) {
    float* y = buffer<float>(call, 4) + size_t{row} * p.width;
    const int32_t soft = p.has_soft != 0 ? call.step->soft_index[row] : -1;
    if (soft >= 0) {
      const float* from = buffer<const float>(call, 3) + static_cast<size_t>(soft) * p.width;
      __builtin_memcpy(y, from, p.width * sizeof(float));
      continue;
    }
    const uint32_t id = static_cast<uint32_t>(ids[row]);
    const bool is_inside = id < p.vocabulary;
    if (is_inside) core.dequantize_row(table, id, y);
    const F32 scale = splat(is_inside ? p.scale : __builtin_nanf(""));
    for_each_vector(p.width, [&](uint32_t i, uint32_t n) { store(y + i, is_inside ? load(y + i, n) * scale : scale, n); });
  }
}

}  // namespace

const CpuKernel kEmbed = {"embed", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
