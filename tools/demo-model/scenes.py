"""Scenes with questions and answers: one to four coloured shapes or solids, or printed text.

A scene depends on (seed, index, split) alone. Held-out scenes have other seeds, fonts and words.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image

from corpus import seeded
from scene_draw import (
    COLORS,
    FLAT,
    KINDS,
    RGB,
    SOLID,
    any_color,
    background,
    distance,
    flat,
    paint,
    shade,
    solid,
    spoil,
    text_mask,
)
from words import ANIMALS, BOYS, CITIES, COMMON, GIRLS, THINGS, VERBS, article, made_up_word

BUDGET, SOFT = 70, 48
BLOCKS = 72  # soft tokens of a padded picture: attention on GPUs requires 9 · BLOCKS to be a multiple of eight
PLACES = [
    ["at the top left", "at the top", "at the top right"],
    ["on the left", "in the center", "on the right"],
    ["at the bottom left", "at the bottom", "at the bottom right"],
]
DESCRIBE = [
    "Describe the image.",
    "Describe this image.",
    "Describe the picture.",
    "What is in this image?",
    "What is in the picture?",
    "What do you see?",
    "What does the image show?",
    "What can you see in this picture?",
    "What is this?",
    "Tell me what you see.",
]
READ = [
    "Read the text.",
    "What does it say?",
    "What does the text say?",
    "What is written here?",
    "Read this.",
    "What is written in the image?",
    "Read the text in this image.",
]
READ_NUMBER = ["What number is this?", "Read the number.", "Which number do you see?", "What number do you see?"]
NO_TEXT = "There is no text."
WORDS = sorted({*COMMON, *ANIMALS, *GIRLS, *BOYS, *CITIES, *THINGS, *VERBS})


@dataclass
class Thing:
    color: str
    kind: str
    row: int
    column: int

    @property
    def name(self) -> str:
        return f"{self.color} {self.kind}"

    @property
    def place(self) -> str:
        return PLACES[self.row][self.column]


@dataclass
class Scene:
    """A picture and its contents: things, or printed lines."""

    image: Image.Image
    things: list[Thing]
    lines: list[str]


def is_held_out_word(word: str) -> bool:
    return zlib.crc32(word.lower().encode()) % 8 == 0


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def description(scene: Scene) -> str:
    """The answer to "Describe the image."; things are told in reading order."""
    if scene.lines:
        return f'It says "{" ".join(scene.lines)}".'
    return capital(listed([f"{article(thing.name)} {thing.place}" for thing in scene.things])) + "."


def plural(kind: str) -> str:
    return kind + ("es" if kind == "cross" else "s")


def counted(count: int, noun: str) -> str:
    one = noun.rsplit(" ", 1)
    single = noun.removesuffix("es") if one[-1] == "crosses" else noun.removesuffix("s")
    return f"There is 1 {single}." if count == 1 else f"There are {count} {noun}."


def about_things(r: Random, things: list[Thing]) -> tuple[str, str]:
    """A question about a scene of things: count, place, colour, contents, presence."""
    form = r.random()
    if form < 0.4:
        noun = r.choice(("shapes", "objects", "things"))
        if r.random() < 0.6:
            return f"How many {noun} are {r.choice(('there', 'in the image', 'in the picture'))}?", counted(
                len(things), noun
            )
        if r.random() < 0.5:
            color = r.choice(things).color if r.random() < 0.7 else r.choice(list(COLORS))
            return f"How many {color} {noun} are there?", counted(
                sum(t.color == color for t in things), f"{color} {noun}"
            )
        kind = r.choice(things).kind if r.random() < 0.7 else r.choice(KINDS)
        return f"How many {plural(kind)} are there?", counted(sum(t.kind == kind for t in things), plural(kind))
    thing = r.choice(things)
    alone = sum(t.kind == thing.kind for t in things) == 1
    if form < 0.58 and alone:
        return f"What color is the {thing.kind}?", f"The {thing.kind} is {thing.color}."
    if form < 0.74 and alone:
        return f"Where is the {thing.kind}?", f"The {thing.kind} is {thing.place}."
    if form < 0.88:
        return f"What is {thing.place}?", capital(article(thing.name)) + "."
    other = Thing(r.choice(list(COLORS)), r.choice(KINDS), 0, 0) if r.random() < 0.5 else thing
    asked = f"Is there {article(other.name)}?"
    return asked, "Yes." if any(t.name == other.name for t in things) else "No."


def question(r: Random, scene: Scene) -> tuple[str, str]:
    """A random question about a scene, and its answer."""
    if scene.lines:
        if r.random() < 0.15:
            return r.choice(DESCRIBE), description(scene)
        text = " ".join(scene.lines)
        if text.isdigit() and r.random() < 0.5:
            return r.choice(READ_NUMBER), text
        return r.choice(READ), text
    form = r.random()
    if form < 0.6:
        return r.choice(DESCRIBE), description(scene)
    if form < 0.64:
        return r.choice(READ), NO_TEXT
    return about_things(r, scene.things)


def canvas_size(r: Random) -> tuple[tuple[int, int], tuple[int, int]]:
    """Grid of soft tokens (across, down) at the budget, and the size of the drawn picture, with a random aspect ratio."""
    aspect = 1.0 if r.random() < 0.35 else math.exp(r.uniform(-0.72, 0.72))
    pixels = 384 * 384 * (r.uniform(0.3, 1.5) if r.random() < 0.5 else 1) ** 2
    width, height = max(48, round(math.sqrt(pixels * aspect))), max(48, round(math.sqrt(pixels / aspect)))
    return grid_of(width, height), (width, height)


def grid_of(width: int, height: int) -> tuple[int, int]:
    """Soft tokens across and down for a picture of this size."""
    factor = math.sqrt(9 * BUDGET * 256 / (height * width))
    return math.floor(factor * width / SOFT), math.floor(factor * height / SOFT)


def draw_things(r: Random, size: tuple[int, int]) -> tuple[Image.Image, list[Thing]]:
    """A picture with one to four things in different cells of a 3 × 3 grid."""
    w, h = size
    count = r.choice((1, 1, 2, 2, 3, 3, 4))
    solids = r.random() < 0.35
    ground = any_color(r)
    image = background(r, size, ground, calm=True)
    cells = r.sample(range(9), count)
    if count == 1 and r.random() < 0.35:
        cells = [4]
    light_x = r.uniform(-0.7, 0.7)
    light = (light_x, -r.uniform(0.3, 0.6), 0.0)
    light = (light[0], light[1], math.sqrt(max(0.05, 1 - light[0] ** 2 - light[1] ** 2)))
    edges = r.random() < 0.2
    things = []
    base = r.uniform(0.25, 0.42)
    for cell in sorted(cells):
        row, column = divmod(cell, 3)
        for _ in range(60):
            name = r.choice(list(COLORS))
            color = paint(r, name)
            if distance(color, ground) > 130:
                break
        kind = r.choice(SOLID if solids else FLAT)
        thing = Thing(name, kind, row, column)
        size_px = min(w, h) / 3 * min(0.46, base * r.uniform(0.8, 1.25))
        if count == 1:
            size_px = min(w, h) * (r.uniform(0.12, 0.42) if cell == 4 else r.uniform(0.09, 0.16))
        slack_x, slack_y = max(0.0, w / 6 - size_px * 0.9), max(0.0, h / 6 - size_px * 0.9)
        if count == 1 and cell == 4:
            slack_x, slack_y = min(w * 0.09, w / 2 - size_px), min(h * 0.09, h / 2 - size_px)
        cx = w * (column + 0.5) / 3 + r.uniform(-1, 1) * min(slack_x, w * 0.09)
        cy = h * (row + 0.5) / 3 + r.uniform(-1, 1) * min(slack_y, h * 0.09)
        if solids:
            solid(r, image, kind, color, cx, cy, size_px, light)
        else:
            edge = shade(color, 0.45) if edges and name not in ("black", "brown") else None
            flat(r, image, kind, color, cx, cy, size_px, edge)
        things.append(thing)
    return image, things


def printed_number(r: Random) -> str:
    form = r.random()
    if form < 0.82:
        digits = r.randint(1, 6)
        return str(r.randrange(10 ** (digits - 1) if digits > 1 else 0, 10**digits))
    return r.choice(
        (f"{r.randint(0, 23)}:{r.randint(0, 59):02}", f"{r.randint(0, 99)}.{r.randint(0, 99)}", f"{r.randint(1, 100)}%")
    )


def printed_word(r: Random, held_out: bool, made_up: bool) -> str:
    while True:
        word = made_up_word(r) if made_up else r.choice(WORDS)
        if word.isascii() and len(word) <= 11 and is_held_out_word(word) == held_out:
            break
    style = r.random()
    return word.upper() if style < 0.35 else capital(word) if style < 0.7 else word.lower()


def printed_lines(r: Random, held_out: bool) -> list[str]:
    """One or two lines of numbers or words; `held_out` uses words that are never printed in training."""
    form = r.random()
    if form < 0.35:
        return [printed_number(r)]
    known = held_out or r.random() < 0.5
    word = printed_word(r, held_out, not known)
    if form < 0.7:
        return [word]
    other = printed_number(r) if r.random() < 0.35 else printed_word(r, held_out, not known)
    if r.random() < 0.5 and len(word) + len(other) <= 12:
        return [f"{word} {other}"]
    if r.random() < 0.15 and len(word) + len(other) <= 14:
        return [word, other, printed_word(r, held_out, not known)]
    return [word, other]


def draw_text(r: Random, size: tuple[int, int], lines: list[str], fonts: list[Path]) -> Image.Image:
    """Printed lines on a random background, sometimes on a plate."""
    ground = any_color(r)
    while True:
        ink: RGB = r.choice(((0, 0, 0), (255, 255, 255), any_color(r), paint(r, r.choice(list(COLORS)))))
        if distance(ink, ground) > 230:
            break
        ground = any_color(r)
    w, h = size
    longest = max(map(len, lines))
    width = r.uniform(min(0.85, 0.3 + 0.04 * longest), 0.92)
    mask = text_mask(r, size, lines, r.choice(fonts), width, r.uniform(-7, 7) if r.random() < 0.4 else 0)
    if r.random() < 0.15:
        outer = any_color(r)
        image = background(r, size, outer, calm=False)
        box = mask.getbbox() or (0, 0, w, h)
        pad = round(min(w, h) * r.uniform(0.03, 0.1))
        image.paste(ground, (box[0] - pad, box[1] - pad, box[2] + pad, box[3] + pad))
    else:
        image = background(r, size, ground, calm=True)
    image.paste(ink, (0, 0, w, h), mask)
    return image


def make_scene(seed: int, index: int, fonts: list[Path], held_out: bool) -> Scene:
    """Scene number `index` of a split, as a picture of random size."""
    r = seeded(seed, "scene", index, held_out)
    _, size = canvas_size(r)
    scale = 1.4
    drawn = (round(size[0] * scale), round(size[1] * scale))
    if r.random() < 0.5:
        lines = printed_lines(r, held_out)
        return Scene(spoil(r, draw_text(r, drawn, lines, fonts), size), [], lines)
    image, things = draw_things(r, drawn)
    return Scene(spoil(r, image, size), things, [])


def patches_of(image: Image.Image) -> tuple[np.ndarray, tuple[int, int]]:
    """Patches [BLOCKS, 9, 768] uint8 in the tower's order, nine per soft token, padded with zeros; and the grid."""
    across, down = grid_of(*image.size)
    size = (SOFT * across, SOFT * down)
    resized = image if image.size == size else image.resize(size, Image.Resampling.BICUBIC)
    pixels = np.asarray(resized).reshape(down, 3, 16, across, 3, 16, 3).transpose(0, 3, 1, 4, 2, 5, 6)
    out = np.zeros((BLOCKS, 9, 768), np.uint8)
    out[: across * down] = pixels.reshape(across * down, 9, 768)
    return out, (across, down)
