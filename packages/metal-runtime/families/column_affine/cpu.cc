/** column_affine: y = (x + factor * shift) * gain, [rows, width], shift and gain per column. One item is one row. */
#include "column_affine_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[params_of<ColumnAffineParams>(call).row_set]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<ColumnAffineParams>(call);
  const F32 factor = splat(p.factor);
  for (size_t row = begin; row < end; ++row) {
    const float* x = buffer<const float>(call, 0) + row * p.x_stride;
    float* y = buffer<float>(call, 3) + row * p.y_stride;
    if (p.has_shift != 0) {
      with_scalar_type(p.shift_type, [&]<ScalarType type>() {
        const void* shift = buffer<const void>(call, 1);
        for_each_vector(p.width, [&](uint32_t i, uint32_t n) { store(y + i, load(x + i, n) + factor * load_as<type>(shift, i, n), n); });
      });
      x = y;
    }
    if (p.has_gain != 0) {
      with_scalar_type(p.gain_type, [&]<ScalarType type>() {
        const void* gain = buffer<const void>(call, 2);
        for_each_vector(p.width, [&](uint32_t i, uint32_t n) { store(y + i, load(x + i, n) * load_as<type>(gain, i, n), n); });
      });
    }
  }
}

}  // namespace

const CpuKernel kColumnAffine = {"column_affine", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
