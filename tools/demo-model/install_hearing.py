"""Writes the trained hearing to the stored model, in place: every other byte of its files stays.

    python3 install_hearing.py OUT/hearing.safetensors ../../packages/demo-model/model [--share 0.8]

With --share, the result lies between the stored weights (0) and the trained ones (1), and is better than both where training was short.
Tensors get the bits that training simulated (architecture.py: bits_of). `restore.py` reads the result back. Needs numpy.
"""

from __future__ import annotations

import argparse
import json
import struct
from pathlib import Path

import numpy as np

from affine import from_bfloat16_bits, quantize, to_bfloat16_bits
from architecture import bits_of
from check_export import mlx_name, read
from restore import TOWERS, dequantized

DTYPES = {np.dtype(np.uint16): "BF16", np.dtype(np.uint32): "U32"}


def header(data: bytes) -> tuple[dict, int]:
    """The header of a safetensors file and the start of its tensors."""
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size]), 8 + size


def stored(name: str, bits: np.ndarray) -> dict[str, np.ndarray]:
    """A bfloat16 tensor in the form of the stored model, by names of that model."""
    new, width = mlx_name(name), bits_of(name, bits.shape)
    if width is None:
        return {new: np.moveaxis(bits, 1, -1) if bits.ndim > 2 and "conv" in name else bits}
    module = new.removesuffix(".weight")
    parts = quantize(from_bfloat16_bits(bits), width)
    return {f"{module}.{part}": tensor for part, tensor in zip(("weight", "scales", "biases"), parts, strict=True)}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("hearing", type=Path)
    options.add_argument("model", type=Path)
    options.add_argument("--share", type=float, default=1.0, help="of the trained weights")
    given = options.parse_args()
    old = dequantized(read(given.model), TOWERS)
    share, rest = np.float32(given.share), np.float32(1 - given.share)
    data = given.hearing.read_bytes()
    names, start = header(data)
    new: dict[str, np.ndarray] = {}
    for name, info in names.items():
        if name != "__metadata__":
            first, last = (start + offset for offset in info["data_offsets"])
            trained = from_bfloat16_bits(np.frombuffer(data[first:last], np.uint16).reshape(info["shape"]))
            new |= stored(name, to_bfloat16_bits(share * trained + rest * old[name]))
    written = changed = 0
    for path in sorted(given.model.glob("model*.safetensors")):
        content = bytearray(path.read_bytes())
        places, start = header(bytes(content))
        for name in places.keys() & new.keys():
            tensor, info = new[name], places[name]
            form = [DTYPES[tensor.dtype], list(tensor.shape)]
            if form != [info["dtype"], info["shape"]]:
                raise ValueError(f"{name} is {info['dtype']} {info['shape']} in {path.name}, but was trained as {form}")
            first, last = (start + offset for offset in info["data_offsets"])
            made = np.ascontiguousarray(tensor).tobytes()
            written, changed = written + 1, changed + (content[first:last] != made)
            content[first:last] = made
        path.write_bytes(content)
    if written != len(new):
        raise ValueError(f"{len(new) - written} trained tensors are not in {given.model}")
    print(f"{written} tensors written, {changed} of them changed")


if __name__ == "__main__":
    main()
