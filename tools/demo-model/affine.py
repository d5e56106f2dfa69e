"""Affine quantisation in groups of 64 input columns, as MLX checkpoints store it (4 or 8 bits here).

Per group, in float32: `lo, hi` are its extremes and `n = 2^bits - 1`. The end of the range that lies farther from zero is
met exactly, codes are rounded half to even, and scale and bias are stored in bfloat16. `w = code * scale + bias`.
"""

from __future__ import annotations

import numpy as np

GROUP = 64


def to_bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """Converts float32 to bfloat16, the upper 16 bits, rounded half to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat16_bits(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def quantize(weight: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantises float32 [out, in]: codes in uint32 [out, in * bits / 32], and scales and biases [out, in / 64] as bfloat16 bits."""
    rows, columns = weight.shape
    w = weight.reshape(rows, columns // GROUP, GROUP)
    n = np.float32(2**bits - 1)
    lo, hi = w.min(-1), w.max(-1)
    scale = np.maximum((hi - lo) / n, np.float32(1e-7))
    low_end = np.abs(lo) > np.abs(hi)
    scale = np.where(low_end, scale, -scale)
    end = np.where(low_end, lo, hi)
    zero_code = np.rint(end / scale)
    exact = zero_code != 0
    scale = np.where(exact, end / np.where(exact, zero_code, np.float32(1)), scale)
    bias = np.where(exact, end, np.float32(0))
    codes = np.clip(np.rint((w - bias[..., None]) / scale[..., None]), 0, n).astype(np.uint32).reshape(rows, columns)
    per_word = 32 // bits
    shifts = np.arange(per_word, dtype=np.uint32) * np.uint32(bits)
    packed = np.bitwise_or.reduce(codes.reshape(rows, -1, per_word) << shifts, axis=-1)
    return packed, to_bfloat16_bits(scale), to_bfloat16_bits(bias)


def dequantize(packed: np.ndarray, scales: np.ndarray, biases: np.ndarray, bits: int) -> np.ndarray:
    """The inverse of `quantize`: float32 [out, in]."""
    rows, per_word = packed.shape[0], 32 // bits
    shifts = np.arange(per_word, dtype=np.uint32) * np.uint32(bits)
    codes = ((packed[..., None] >> shifts) & np.uint32(2**bits - 1)).reshape(rows, -1, GROUP).astype(np.float32)
    return (codes * from_bfloat16_bits(scales)[..., None] + from_bfloat16_bits(biases)[..., None]).reshape(rows, -1)
