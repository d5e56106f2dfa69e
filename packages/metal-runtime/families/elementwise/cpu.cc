/**
 * elementwise, [rows, width]: add y = (a + b) * scale; scale y = a * scale; geglu y = gelu_tanh(a) * b;
 * softcap y = scale * tanh(a / scale); clamp y = min(max(a, scale), high), NaN stays NaN;
 * glu y = a * sigmoid(b).
 *
 * One item is a run of kChunk columns of a row: one row of logits is wide enough for all threads.
 */
#include "elementwise_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

/** Columns per item: about a microsecond of work, and a multiple of every vector length. */
constexpr uint32_t kChunk = 4096;

uint32_t items(const CpuCall& call, uint32_t) {
  const auto& p = params_of<ElementwiseParams>(call);
  return call.step->rows[p.row_set] * divide_up(p.width, kChunk);
}

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<ElementwiseParams>(call);
  const uint32_t chunks = divide_up(p.width, kChunk);
  for (uint32_t item = begin; item < end; ++item) {
    const size_t row = item / chunks;
    const uint32_t first = item % chunks * kChunk;
    const uint32_t width = smaller(kChunk, p.width - first);
    const float* a = buffer<const float>(call, 0) + row * p.a_stride + first;
    const float* b = buffer<const float>(call, 1);
    if (b != nullptr) b += row * p.b_stride + first;
    float* y = buffer<float>(call, 2) + row * p.y_stride + first;
    switch (p.op) {
      case kElementwiseAdd: add_row(a, b, width, p.scale, y); break;
      case kElementwiseScale:
        for_each_vector(width, [&](uint32_t i, uint32_t n) { store(y + i, load(a + i, n) * splat(p.scale), n); });
        break;
      case kElementwiseGeglu: geglu_row(a, b, width, y); break;
      case kElementwiseClamp: clamp_row(a, width, p.scale, p.high, y); break;
      case kElementwiseGlu:
        for_each_vector(width, [&](uint32_t i, uint32_t n) { store(y + i, load(a + i, n) * sigmoid(load(b + i, n)), n); });
        break;
      default: softcap_row(a, width, p.scale, y); break;
    }
  }
}

}  // namespace

const CpuKernel kElementwise = {"elementwise", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
