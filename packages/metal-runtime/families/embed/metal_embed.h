#pragma once

/** One element of an embedding. Metal only; the including file has metal_stdlib, embed_params.h and metal_storage.h. */

#pragma METAL fp contract(off)

/** An embedding table in memory. */
struct EmbedTable {
  device const uchar* weight;
  device const uchar* scales;
  device const uchar* biases;
  device const float* soft;
};

/** table[id][column] * scale, or the element of the soft token that replaces the row. An id outside the table gives NaN. */
inline float embed_element(constant EmbedParams& p, EmbedTable table, uint id, int soft_row, uint column) {
  if (p.has_soft != 0 && soft_row >= 0) return table.soft[ulong(soft_row) * p.width + column];
  if (id >= p.vocabulary) return as_type<float>(0x7fc00000u);
  const ulong index = ulong(id) * p.width + column;
  if (!is_quantized(p.format)) return load_scalar(table.weight, p.format, index) * p.scale;
  device const uchar* row = table.weight + ulong(id) * p.width * p.bits / 8;
  const ulong group = ulong(id) * (p.width / p.group) + column / p.group;
  if (p.format != kWeightAffine) {
    const uint code = stored_code(row, p.bits, column);
    const float number = p.format == kWeightMxfp8 ? scaled_e4m3(code) * 256.0f : scaled_e2m1(code) * 16384.0f;
    return number * load_small_scale(table.scales, p.format == kWeightNvfp4, group) * p.scale;
  }
#if defined(MARKBASE_NVIDIA)
  const ulong first = ulong(column) * p.bits, last = (ulong(p.width) * p.bits + 7) / 8 - 1;
  const uint low = row[first / 8], high = row[min(first / 8 + 1, last)];
  ScalarBits scale, bias;
  scale.load(table.scales, p.scale_type, group);
  bias.load(table.biases, p.scale_type, group);
  const float code = float(((low | high << 8) >> uint(first % 8)) & ((1u << p.bits) - 1u));
  return (code * scale.number(p.scale_type) + bias.number(p.scale_type)) * p.scale;
#else
  const float scaled = float(stored_code(row, p.bits, column)) * load_scalar(table.scales, p.scale_type, group);
  return (scaled + load_scalar(table.biases, p.scale_type, group)) * p.scale;
#endif
}
