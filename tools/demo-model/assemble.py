"""Creates a Hugging Face checkpoint folder from the output of training; needs only the standard library and numpy.

    python3 assemble.py TRAINED_DIR HF_DIR

`TRAINED_DIR` holds state.json, text-*.safetensors and, unless the variant has no towers, towers-*.safetensors. Tokenizer files and the template come from
packages/demo-model/model and from here.
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
from pathlib import Path

from architecture import generation_config, model_config, processor_config, variant_of

HERE = Path(__file__).parent
MODEL = HERE.parents[1] / "packages/demo-model/model"


def header(path: Path) -> dict:
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(size))


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    variant = variant_of(source)
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.safetensors*"):
        old.unlink()
    parts = [path for prefix in ("text", "towers") for path in sorted(source.glob(f"{prefix}-*.safetensors"))]
    places: dict[str, str] = {}
    total = 0
    for index, path in enumerate(parts, 1):
        name = f"model-{index:05d}-of-{len(parts):05d}.safetensors"
        shutil.copyfile(path, target / name)
        for tensor, info in header(path).items():
            if tensor != "__metadata__":
                places[tensor] = name
                total += info["data_offsets"][1] - info["data_offsets"][0]
    index_file = {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}
    (target / "model.safetensors.index.json").write_text(json.dumps(index_file, separators=(",", ":")) + "\n")
    contents = {"config.json": model_config(variant), "generation_config.json": generation_config()}
    if variant == "dense":
        contents["processor_config.json"] = processor_config()
    for name, content in contents.items():
        (target / name).write_text(json.dumps(content, separators=(",", ": ")) + "\n")
    for path in (MODEL / "tokenizer.json", MODEL / "tokenizer_config.json", HERE / "chat_template.jinja"):
        shutil.copyfile(path, target / path.name)
    print(f"{len(places)} tensors, {total / 1e6:.1f} MB in {len(parts)} files")


if __name__ == "__main__":
    main()
