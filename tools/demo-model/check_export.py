"""Compares the quantised model with its Hugging Face source, with an independent implementation; needs numpy.

    python3 check_export.py HF_DIR MODEL_DIR

Every matrix must have the bits that training simulated, and the very codes, scales and biases of affine.py.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import numpy as np

from affine import from_bfloat16_bits, quantize
from architecture import bits_of

DTYPES = {"BF16": np.uint16, "U32": np.uint32}


def read(folder: Path) -> dict[str, np.ndarray]:
    """All tensors of a folder; bfloat16 as raw bits."""
    out: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        for name, info in json.loads(data[8 : 8 + size]).items():
            if name != "__metadata__":
                start, end = (8 + size + offset for offset in info["data_offsets"])
                out[name] = np.frombuffer(data[start:end], DTYPES[info["dtype"]]).reshape(info["shape"])
    return out


def mlx_name(name: str) -> str:
    name = name.removeprefix("model.")
    return name.replace("language_model.", "language_model.model.", 1) if name.startswith("language_model.") else name


def parts_of(module: str, tensor: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """The modules of a stored matrix: itself, or the experts' projections, with gate and up fused."""
    parent, _, last = module.rpartition(".")
    if not parent.endswith(".experts"):
        return [(module, tensor)]
    parent += ".switch_glu."
    if last == "down_proj":
        return [(parent + last, tensor)]
    half = tensor.shape[1] // 2
    return [(parent + "gate_proj", tensor[:, :half]), (parent + "up_proj", tensor[:, half:])]


def main() -> None:
    source, model = read(Path(sys.argv[1])), read(Path(sys.argv[2]))
    unseen, wrong = set(model), []
    for name, tensor in source.items():
        new = mlx_name(name)
        bits = bits_of(name, tensor.shape)
        if bits is None:
            expected = {new: np.moveaxis(tensor, 1, -1) if tensor.ndim > 2 and "conv" in name else tensor}
        else:
            expected = {}
            for module, part in parts_of(new.removesuffix(".weight"), tensor):
                rows = quantize(from_bfloat16_bits(part).reshape(-1, part.shape[-1]), bits)
                for suffix, values in zip((".weight", ".scales", ".biases"), rows):
                    expected[module + suffix] = values.reshape(*part.shape[:-1], -1)
        for key, value in expected.items():
            unseen.discard(key)
            if key not in model or model[key].shape != value.shape or not np.array_equal(model[key], value):
                wrong.append(key)
    print(
        f"{len(source)} tensors, {len(model)} stored; wrong: {wrong or 'none'}; unexpected: {sorted(unseen) or 'none'}"
    )
    sys.exit(bool(wrong or unseen))


if __name__ == "__main__":
    main()
