"""Converts the stored model back to a state from which training can resume, with the dequantised weights.

    python3 restore.py MODEL_DIR STATE_DIR STEP

For work on the shipped model when the original state is gone, such as training its towers. Text and towers are restored; values are those
of the stored codes, so nothing is rounded a second time. Needs numpy.
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
from pathlib import Path

import numpy as np

from affine import dequantize, from_bfloat16_bits
from check_export import read


SUFFIXES = (".scales", ".biases")


TEXT = ("language_model.",)
TOWERS = ("vision_tower.", "embed_vision.", "audio_tower.", "embed_audio.")


def hf_name(name: str) -> str:
    return "model." + name.replace("language_model.model.", "language_model.", 1)


def dequantized(model: dict[str, np.ndarray], parts: tuple[str, ...] = TEXT) -> dict[str, np.ndarray]:
    """Every tensor of some parts in float32, by its Hugging Face name; experts are fused again."""
    out = {}
    for name, tensor in model.items():
        module = name.removesuffix(".weight")
        if not name.startswith(parts) or name.endswith(SUFFIXES):
            continue
        if tensor.dtype == np.uint32:
            scales, biases = (
                model[module + suffix].reshape(-1, model[module + suffix].shape[-1]) for suffix in SUFFIXES
            )
            rows = tensor.reshape(-1, tensor.shape[-1])
            values = dequantize(rows, scales, biases, 32 * rows.shape[1] // (64 * scales.shape[1]))
            out[hf_name(name)] = values.reshape(*tensor.shape[:-1], -1)
        else:
            # Convolutions are stored with their input channels last.
            is_convolution = tensor.ndim > 2 and "conv" in name
            out[hf_name(name)] = from_bfloat16_bits(np.moveaxis(tensor, -1, 1) if is_convolution else tensor)
    for name in [name for name in out if ".switch_glu." in name]:
        parent = name.partition(".switch_glu.")[0]
        if name.endswith("gate_proj.weight"):
            up = out.pop(name.replace("gate_proj", "up_proj"))
            out[parent + ".gate_up_proj"] = np.concatenate((out.pop(name), up), 1)
        elif name.endswith("down_proj.weight"):
            out[parent + ".down_proj"] = out.pop(name)
    return out


def write(tensors: dict[str, np.ndarray], path: Path) -> list[str]:
    """Writes float32 tensors to a safetensors file, and returns their names."""
    header: dict[str, dict] = {"__metadata__": {"format": "pt"}}
    data, at = [], 0
    for name, tensor in tensors.items():
        content = tensor.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(content)]}
        data.append(content)
        at += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))
    print(f"{path.name}: {len(data)} tensors, {at / 1e6:.1f} MB")
    return list(tensors)


def main() -> None:
    target = Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    model = read(Path(sys.argv[1]))
    names = write(dequantized(model), target / "text-1.safetensors")
    # `train.py` resumes from this name, `train_media.py` and the evaluation from the others.
    shutil.copyfile(target / "text-1.safetensors", target / "state-1.safetensors")
    if towers := dequantized(model, TOWERS):
        write(towers, target / "towers-1.safetensors")
    variant = "moe" if any(name.endswith(".experts.down_proj") for name in names) else "dense"
    (target / "state.json").write_text(json.dumps({"step": int(sys.argv[3]), "variant": variant, "stored": True}))


if __name__ == "__main__":
    main()
