"""Creates the fifty held-out scenes of `packages/demo-model/held-out/scenes`: small files, with fonts and words that training never saw.

    python3 scenes_held_out.py ../../packages/demo-model/held-out/scenes --fonts FONTS

Thirty are to be described, twenty to be read or counted. Files are PNG, JPEG and WebP of many sizes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random

from PIL import Image

from corpus import seeded
from scene_draw import spoil
from scenes import (
    Scene,
    canvas_size,
    counted,
    description,
    draw_text,
    draw_things,
    is_held_out_word,
    printed_number,
    printed_word,
)

SEED = 5
MOST_BYTES, MOST_SIDE = 9_000, 420


def size_of(r: Random) -> tuple[int, int]:
    """A picture size with a random aspect ratio, the longer side at least 160 pixels."""
    _, (width, height) = canvas_size(r)
    scale = r.uniform(160, MOST_SIDE) / max(width, height)
    return round(width * scale), round(height * scale)


def printed(r: Random, kind: str) -> list[str]:
    """Lines of one number, or of one or two held-out words."""
    if kind == "number":
        return [printed_number(r)]
    words = [printed_word(r, True, made_up=False) for _ in range(r.choice((1, 1, 2)))]
    assert all(map(is_held_out_word, words))
    return words


def make(r: Random, kind: str, count: int, fonts: list[Path]) -> tuple[Image.Image, str, str, int]:
    """Picture, question, answer, and the number of things on it."""
    size = size_of(r)
    drawn = (2 * size[0], 2 * size[1])
    if kind in ("number", "words"):
        lines = printed(r, kind)
        picture = draw_text(r, drawn, lines, fonts)
        ask = "Read the number." if kind == "number" else "Read the text."
        return spoil(r, picture, size), ask, " ".join(lines), 0
    while True:
        picture, things = draw_things(r, drawn)
        if len(things) == count:
            break
    if kind == "count":
        return spoil(r, picture, size), "How many shapes are there?", counted(count, "shapes"), count
    return spoil(r, picture, size), "Describe the image.", description(Scene(picture, things, [])), count


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--fonts", type=Path, required=True)
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for old in given.out.iterdir():
        old.unlink()
    fonts = sorted((given.fonts / "held-out").iterdir())
    kinds = [("describe", 1 + i % 4) for i in range(30)] + [("words", 0)] * 8 + [("number", 0)] * 7
    kinds += [("count", 1 + i % 4) for i in range(5)]
    scenes = []
    for index, (kind, count) in enumerate(kinds):
        for attempt in range(100):
            r = seeded(SEED, "held-out scene", index, attempt)
            picture, ask, answer, things = make(r, kind, count, fonts)
            suffix, quality = (("jpg", 84), ("webp", 82), ("png", 0))[index % 3]
            path = given.out / f"{index + 1:02}.{suffix}"
            if suffix == "png":
                picture.save(path, optimize=True)
            else:
                picture.save(path, quality=quality)
            if path.stat().st_size <= MOST_BYTES:
                break
        else:
            raise RuntimeError(f"scene {index} does not fit into {MOST_BYTES} bytes")
        scenes.append({"file": path.name, "kind": kind, "things": things, "ask": ask, "answer": answer})
    (given.out / "scenes.json").write_text(json.dumps(scenes, indent=2) + "\n")
    print(len(scenes), "scenes,", sum(path.stat().st_size for path in given.out.iterdir()) // 1000, "kB")


if __name__ == "__main__":
    main()
