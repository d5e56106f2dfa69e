// Every instruction set of this machine against a float64 oracle: products of all weight formats, groups and row counts,
// the promises of linear_core.h about order and memory, and exact dequantisation. Prints a count; exits 1 on a failure.

#include <cstdio>
#include <cstring>

#include "linear_case.h"

namespace markbase::test {
namespace {

int passed = 0;
int failed = 0;

void check(bool is_good, const LinearCore& core, const LinearCase& c, const char* what, double measured = 0) {
  if (is_good) {
    ++passed;
    return;
  }
  ++failed;
  if (failed < 40) printf("FAILED %s %s: %s (%g)\n", core.isa, c.name().c_str(), what, measured);
}

enum class Mode { kHigh, kFastFewRows, kFastManyRows };
constexpr Mode kModes[] = {Mode::kHigh, Mode::kFastFewRows, Mode::kFastManyRows};

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::kHigh: return "high: error";
    case Mode::kFastFewRows: return "fast, few rows: error";
    default: return "fast, many rows: error";
  }
}

constexpr uint32_t kRowCounts[] = {1, 2, 3, 5, 8, 17, 64};
constexpr uint32_t kMaxRows = 64;
/** Rows with numbers of their own. The others are these times powers of two, so that the oracle need not sum them, which takes long in an
 * emulator. */
constexpr uint32_t kOwnRows = 17;
constexpr uint32_t kPadding = 3;  // floats between the rows of y, which must not be written
constexpr float kUntouched = -12345.0f;

/** Runs a product in parts: `splits` (ascending, from 0 to out) divides the outputs; y is [rows, out]. */
std::vector<float> product(const LinearCore& core,
                           const LinearCase& c,
                           Mode mode,
                           const std::vector<float>& x,
                           uint32_t rows,
                           const std::vector<uint32_t>& splits,
                           bool* is_inside) {
  const RowForm form = core.row_form(c.view, mode != Mode::kHigh, mode == Mode::kFastFewRows);
  const size_t row_bytes = core.prepared_row_bytes(form, c.view.in);
  const GuardedBuffer prepared(rows * row_bytes);
  for (uint32_t r = 0; r < rows; ++r) {
    core.prepare_row(form, c.view.in, x.data() + size_t{r} * c.view.in, prepared.data() + r * row_bytes);
  }
  const GuardedBuffer scratch((core.scratch_bytes(c.view, form, rows) + 63) / 64 * 64);
  std::vector<float> y(size_t{rows} * c.view.out);
  for (size_t s = 0; s + 1 < splits.size(); ++s) {
    const uint32_t count = splits[s + 1] - splits[s];
    const size_t stride = count + kPadding;
    std::vector<float> piece(rows * stride, kUntouched);
    core.multiply(c.view, form, prepared.data(), rows, splits[s], splits[s + 1], piece.data(), stride, scratch.data());
    for (uint32_t r = 0; r < rows; ++r) {
      memcpy(&y[size_t{r} * c.view.out + splits[s]], &piece[r * stride], count * sizeof(float));
      for (uint32_t i = count; i < stride; ++i) *is_inside = *is_inside && piece[r * stride + i] == kUntouched;
    }
  }
  return y;
}

/** The values of 8-bit activations by the definition in int8_row.h. */
std::vector<float> rounded_activations(const std::vector<float>& x, uint32_t in) {
  std::vector<float> result(x.size());
  for (size_t row = 0; row < x.size(); row += in) {
    for (uint32_t k = 0; k < in; k += 64) {
      const uint32_t stop = k + 64 < in ? k + 64 : in;
      float largest = 0;
      for (uint32_t i = k; i < stop; ++i) largest = std::fmax(largest, std::fabs(x[row + i]));
      if (largest == 0) continue;
      const float inverse = 127.0f / largest;
      for (uint32_t i = k; i < stop; ++i) result[row + i] = std::nearbyint(x[row + i] * inverse) * (largest / 127.0f);
    }
  }
  return result;
}

/** The nearest bfloat16, ties to even. */
float bfloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  bits = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  memcpy(&value, &bits, 4);
  return value;
}

struct Oracle {
  std::vector<double> y;      // [rows, out]
  std::vector<double> terms;  // [rows, out] root of the sum of squares of the terms' magnitudes
};

/** Products of rows that `repeat_rows` completed. `in_bfloat`: for activations and weights that are rounded to bfloat16. */
Oracle oracle(const LinearCase& c, const std::vector<float>& x, bool in_bfloat = false) {
  const uint32_t in = c.view.in;
  Oracle result;
  for (size_t row = 0; row < size_t{kOwnRows} * in; row += in) {
    for (uint32_t n = 0; n < c.view.out; ++n) {
      double sum = 0, squares = 0;
      for (uint32_t k = 0; k < in; ++k) {
        const double a = in_bfloat ? bfloat(x[row + k]) : x[row + k];
        const double w = c.value[size_t{n} * in + k];
        const double m = a * c.magnitude[size_t{n} * in + k];
        sum += a * (in_bfloat ? bfloat(static_cast<float>(w)) : w);
        squares += m * m;
      }
      result.y.push_back(sum);
      result.terms.push_back(std::sqrt(squares));
    }
  }
  for (size_t i = size_t{kOwnRows} * c.view.out; i < size_t{kMaxRows} * c.view.out; ++i) {
    const size_t before = i - size_t{kOwnRows} * c.view.out;
    result.y.push_back(2 * result.y[before]);
    result.terms.push_back(2 * result.terms[before]);
  }
  return result;
}

/** Appends rows until there are kMaxRows: each is twice the row kOwnRows before it, which changes no rounding. */
void repeat_rows(std::vector<float>& x, uint32_t in) {
  for (size_t i = x.size(); i < size_t{kMaxRows} * in; ++i) x.push_back(2 * x[i - size_t{kOwnRows} * in]);
}

/** Largest error relative to the size of the terms, over the first `rows` rows. */
double largest_error(const std::vector<float>& y, const Oracle& expected) {
  double largest = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double error = std::fabs(y[i] - expected.y[i]);
    if (!(error <= 1e300)) return 1e300;  // also a NaN
    if (error > 0) largest = std::fmax(largest, error / expected.terms[i]);
  }
  return largest;
}

std::vector<float> activations(uint32_t rows, uint32_t in, float size, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0f, 1.0f);
  std::vector<float> x(size_t{rows} * in);
  for (float& value : x) value = size * normal(random) * (random() % 64 == 0 ? 8.0f : 1.0f);
  return x;
}

bool same_bits(const float* a, const float* b, size_t count) { return memcmp(a, b, count * sizeof(float)) == 0; }

// Errors against sqrt(sum |x_k|^2 (|code * scale| + |bias|)_k^2). A sum of 1,536 terms in 4 lanes is 384 sequential additions, each rounded
// by up to 6e-8 of a partial sum: 4e-7 on average, and the worst of thousands is ten times that.
constexpr double kFloatTolerance = 4e-6;

void check_products(const LinearCore& core, const LinearCase& c, std::mt19937& random) {
  const uint32_t in = c.view.in;
  const uint32_t out = c.view.out;
  std::vector<float> x = activations(kOwnRows, in, 1.0f, random);
  // Row 1 is zero, row 2 huge, row 4 tiny.
  for (uint32_t k = 0; k < in; ++k) {
    x[in + k] = 0.0f;
    x[2 * in + k] *= 1e30f;
    x[4 * in + k] *= 1e-20f;
  }
  repeat_rows(x, in);
  const Oracle exact = oracle(c, x);
  const bool is_affine = is_quantized(c.view.format) && c.view.format != kWeightMxfp8;  // in 8-bit products
  const bool has_bfloat = core.row_form(c.view, true, false) == RowForm::kBfloat16Tile;
  const bool has_few_bfloat = core.row_form(c.view, true, true) == RowForm::kBfloat16;
  const Oracle rounded = is_affine ? oracle(c, rounded_activations(x, in)) : has_bfloat ? oracle(c, x, true) : exact;
  const std::vector<uint32_t> whole = {0, out};
  std::vector<uint32_t> cuts = {0};
  for (uint32_t step = 1; cuts.back() + step < out; step = step * 2 + 3) cuts.push_back(cuts.back() + step);
  cuts.push_back(out);

  for (const Mode mode : kModes) {
    const bool is_fast = mode != Mode::kHigh;
    bool is_inside = true;
    const std::vector<float> all = product(core, c, mode, x, kMaxRows, whole, &is_inside);
    for (const uint32_t rows : kRowCounts) {
      for (const bool is_cut : {false, true}) {
        const bool is_all = rows == kMaxRows && !is_cut;
        const std::vector<float> y = is_all ? all : product(core, c, mode, x, rows, is_cut ? cuts : whole, &is_inside);
        const bool is_rounded = is_affine || has_few_bfloat ? is_fast : mode == Mode::kFastManyRows;
        const double error = largest_error(y, is_rounded ? rounded : exact);
        check(error <= kFloatTolerance, core, c, name_of(mode), error);
        check(same_bits(y.data(), all.data(), y.size()), core, c, "other bits for other rows or splits");
        bool is_zero = true;
        for (uint32_t n = 0; rows > 1 && n < out; ++n) is_zero = is_zero && y[out + n] == 0.0f;
        check(is_zero, core, c, "a row of zeros");
      }
    }
    check(is_inside, core, c, "wrote outside its outputs");
    if (is_fast && is_affine) {
      // Rounding to 8 bits: at most half a step of max / 127 per column, random, so well below 1 % of the terms.
      const double error = largest_error(all, exact);
      check(error <= 0.1 && (in < 1024 || error <= 0.05), core, c, "fast: rounding of the activations", error);
    }
  }
}

void check_non_finite(const LinearCore& core, const LinearCase& c, std::mt19937& random) {
  for (const Mode mode : kModes) {
    for (const uint32_t rows : {1u, 8u}) {
      std::vector<float> x = activations(rows, c.view.in, 1.0f, random);
      x[c.view.in - 1] = NAN;
      bool is_inside = true;
      const std::vector<float> y = product(core, c, mode, x, rows, {0, c.view.out}, &is_inside);
      bool is_nan = true;
      bool is_finite = true;
      for (uint32_t n = 0; n < c.view.out; ++n) is_nan = is_nan && std::isnan(y[n]);
      for (size_t i = c.view.out; i < y.size(); ++i) is_finite = is_finite && std::isfinite(y[i]);
      check(is_nan, core, c, "a NaN got lost");
      check(is_finite, core, c, "a NaN reached another row");
    }
  }
}

void check_rows(const LinearCore& core, const LinearCase& c) {
  const GuardedBuffer row(size_t{c.view.in} * sizeof(float));
  auto* out = reinterpret_cast<float*>(row.data());
  bool is_same = true;
  for (uint32_t n = 0; n < c.view.out; ++n) {
    core.dequantize_row(c.view, n, out);
    // -0 is 0.
    for (uint32_t k = 0; c.view.format > kWeightAffine && k < c.view.in; ++k) out[k] += 0.0f;
    is_same = is_same && same_bits(out, &c.rounded[size_t{n} * c.view.in], c.view.in);
  }
  check(is_same, core, c, "dequantize_row");
}

/** Name of the one instruction set that this run checks; null = all. */
const char* chosen = nullptr;

/** `random` makes the case; activations have a seed of their own, so that every instruction set gets the same numbers in any run. */
void check_case(const LinearCase& c, std::mt19937& random) {
  const auto seed = static_cast<uint32_t>(random());
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kNeonDotprod, Isa::kNeonI8mm}) {
    if (!isa_supported(isa)) continue;
    if (chosen != nullptr && std::strcmp(chosen, isa_name(isa)) != 0) continue;
    const LinearCore& core = linear_core(isa);
    std::mt19937 numbers(seed);
    check_rows(core, c);
    check_products(core, c, numbers);
    check_non_finite(core, c, numbers);
  }
}

/** Rows of all scales, and NaN. */
void check_decoding(const LinearCase& c) {
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kNeonDotprod, Isa::kNeonI8mm}) {
    if (!isa_supported(isa) || (chosen != nullptr && std::strcmp(chosen, isa_name(isa)) != 0)) continue;
    const LinearCore& core = linear_core(isa);
    check_rows(core, c);
    std::vector<float> row(c.view.in);
    const uint8_t scale = c.scales->data()[0], code = c.weight->data()[0];
    c.scales->data()[0] = c.view.format == kWeightNvfp4 ? 0x7f : 0xff;
    core.dequantize_row(c.view, 0, row.data());
    for (uint32_t k = 0; k < c.view.in; ++k) check(std::isnan(row[k]) == (k < c.view.group), core, c, "a scale that is NaN");
    c.scales->data()[0] = scale;
    if (c.view.format == kWeightMxfp8) {
      c.weight->data()[0] = 0xff;
      core.dequantize_row(c.view, 0, row.data());
      check(std::isnan(row[0]) && !std::isnan(row[1]), core, c, "an element that is NaN");
      c.weight->data()[0] = code;
    }
  }
}

/** Checks all cases; an instruction set that this processor lacks counts neither as passed nor as failed. */
int run() {
  std::mt19937 random(20261129);
  for (const WeightFormat format : {kWeightF32, kWeightBf16, kWeightF16}) {
    for (const uint32_t in : {1u, 7u, 32u, 33u, 100u, 1536u}) {
      check_case(plain_case(format, in == 1536 ? 37 : 11, in, in % 4 == 0 ? 2 : 0, random), random);
    }
  }
  // Odd numbers of groups, slightly more than a tile of 1,024 columns, and a realistic width with more outputs than one portion.
  const uint32_t multiples[] = {1, 2, 3, 5};
  const ScalarType types[] = {kScalarBf16, kScalarF16, kScalarF32};
  uint32_t turn = 0;
  for (const uint32_t bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
    for (const uint32_t group : {32u, 64u, 128u}) {
      for (const uint32_t multiple : multiples) {
        check_case(affine_case(bits, group, types[turn++ % 3], 19, multiple * group, 0, random), random);
      }
      check_case(affine_case(bits, group, types[turn++ % 3], 5, 1024 + group, 2, random), random);
      check_case(affine_case(bits, group, kScalarBf16, 103, 1536, 0, random), random);
    }
  }
  for (const WeightFormat format : {kWeightMxfp4, kWeightMxfp8, kWeightNvfp4}) {
    for (const uint32_t in : {32u, 64u, 96u, 160u, 1056u}) {
      check_case(small_float_case(format, in == 1056 ? 5 : 19, in, in % 64 == 0 ? 2 : 0, false, random), random);
    }
    check_case(small_float_case(format, 103, 1536, 0, false, random), random);
    check_decoding(small_float_case(format, 40, 512, 0, true, random));
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace markbase::test

int main(int argc, char** argv) {
  printf("best instruction set: %s\n", markbase::cpu::isa_name(markbase::cpu::detect_isa()));
  if (argc > 1) markbase::test::chosen = argv[1];
  return markbase::test::run();
}
