"""Draws scenes: backgrounds, coloured shapes and solids, printed text. All geometry is in fractions of the canvas."""

from __future__ import annotations

import colorsys
import math
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

RGB = tuple[int, int, int]

# Hue in degrees, saturation and value, each from low to high.
COLORS: dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "red": ((352, 366), (0.78, 1.0), (0.62, 1.0)),
    "orange": ((22, 36), (0.8, 1.0), (0.9, 1.0)),
    "yellow": ((50, 60), (0.65, 1.0), (0.86, 1.0)),
    "green": ((95, 148), (0.5, 1.0), (0.35, 0.85)),
    "blue": ((205, 240), (0.6, 1.0), (0.5, 1.0)),
    "purple": ((266, 288), (0.5, 1.0), (0.4, 0.8)),
    "pink": ((318, 345), (0.28, 0.6), (0.92, 1.0)),
    "brown": ((17, 31), (0.55, 0.85), (0.3, 0.5)),
    "black": ((0, 360), (0.0, 0.12), (0.02, 0.12)),
    "white": ((0, 360), (0.0, 0.04), (0.94, 1.0)),
    "gray": ((0, 360), (0.0, 0.06), (0.42, 0.6)),
}
FLAT = "circle square triangle star heart cross ring diamond".split()
SOLID = "ball cube cone cylinder".split()
KINDS = FLAT + SOLID


def rgb_of(hue: float, saturation: float, value: float) -> RGB:
    r, g, b = colorsys.hsv_to_rgb(hue % 360 / 360, saturation, value)
    return round(255 * r), round(255 * g), round(255 * b)


def paint(r: Random, name: str) -> RGB:
    """A random shade of a named colour."""
    return rgb_of(*(r.uniform(*limits) for limits in COLORS[name]))


def any_color(r: Random) -> RGB:
    """Any random colour, often a pale or a dark one."""
    kind = r.random()
    if kind < 0.3:
        return rgb_of(r.uniform(0, 360), r.uniform(0, 0.3), r.uniform(0.75, 1))
    if kind < 0.45:
        return rgb_of(r.uniform(0, 360), r.uniform(0, 0.6), r.uniform(0, 0.3))
    if kind < 0.6:
        return rgb_of(0, 0, r.random())
    return rgb_of(r.uniform(0, 360), r.random(), r.random())


def distance(a: RGB, b: RGB) -> float:
    """Perceived difference of two colours, 0 to about 765; green counts most (the "redmean" formula)."""
    mean = (a[0] + b[0]) / 2
    red, green, blue = (x - y for x, y in zip(a, b))
    return math.sqrt((2 + mean / 256) * red**2 + 4 * green**2 + (2 + (255 - mean) / 256) * blue**2)


def shade(color: RGB, factor: float) -> RGB:
    """Darker below 1, closer to white above."""
    if factor <= 1:
        return tuple(round(c * factor) for c in color)  # type: ignore[return-value]
    return tuple(round(255 - (255 - c) * (2 - factor)) for c in color)  # type: ignore[return-value]


def near(r: Random, color: RGB, spread: int) -> RGB:
    return tuple(min(255, max(0, c + r.randint(-spread, spread))) for c in color)  # type: ignore[return-value]


def gradient(size: tuple[int, int], a: RGB, b: RGB, angle: float, curve: float = 1.0) -> Image.Image:
    """A linear gradient, from an enlarged small picture."""
    x, y = np.meshgrid(np.linspace(-1, 1, 48), np.linspace(-1, 1, 48))
    t = (x * math.cos(angle) + y * math.sin(angle)) / (abs(math.cos(angle)) + abs(math.sin(angle)))
    t = (((t + 1) / 2) ** curve)[..., None]
    values = np.array(a) * (1 - t) + np.array(b) * t
    return Image.fromarray(values.astype(np.uint8), "RGB").resize(size, Image.Resampling.BILINEAR)


def blotches(r: Random, size: tuple[int, int], color: RGB, spread: float) -> Image.Image:
    """Soft noise around a colour, like stone, paper or an out-of-focus wall."""
    cells = r.choice((3, 5, 8, 16, 40, 90))
    noise = np.random.default_rng(r.getrandbits(32)).normal(0, spread, (cells, cells, 1 if r.random() < 0.6 else 3))
    small = np.clip(np.array(color) + np.broadcast_to(noise, (cells, cells, 3)), 0, 255).astype(np.uint8)
    return Image.fromarray(small, "RGB").resize(size, Image.Resampling.BICUBIC)


def background(r: Random, size: tuple[int, int], color: RGB, calm: bool) -> Image.Image:
    """A ground around `color`: plain, gradient, soft noise, stripes, checks, dots, or a table in front of a wall."""
    kind = r.random()
    spread = 10 if calm else 24
    if kind < 0.3:
        return Image.new("RGB", size, color)
    if kind < 0.5:
        return gradient(size, near(r, color, spread), near(r, color, spread), r.uniform(0, 6.3), r.uniform(0.6, 1.6))
    if kind < 0.7:
        return blotches(r, size, color, r.uniform(3, spread / 2))
    image = Image.new("RGB", size, color)
    draw = ImageDraw.Draw(image)
    w, h = size
    other = near(r, color, spread)
    if kind < 0.8:
        # Table and wall.
        line = round(h * r.uniform(0.25, 0.7))
        image.paste(gradient((w, line), color, near(r, color, spread), r.uniform(0, 6.3)), (0, 0))
        image.paste(gradient((w, h - line), other, near(r, color, spread), r.uniform(0, 6.3)), (0, line))
        return image
    step = max(6, round(w * r.uniform(0.04, 0.2)))
    if kind < 0.88:
        for at in range(0, w + h, 2 * step):
            draw.line([(at, 0), (at - h * r.choice((0, 1)), h)], fill=other, width=step)
    elif kind < 0.94:
        for row in range(0, h, step):
            for column in range(0, w, step):
                if (row // step + column // step) % 2:
                    draw.rectangle([column, row, column + step, row + step], fill=other)
    else:
        radius = step * 0.3
        for row in range(0, h + step, step):
            for column in range(0, w + step, step):
                draw.ellipse([column - radius, row - radius, column + radius, row + radius], fill=other)
    return image


def turned(
    points: list[tuple[float, float]], angle: float, cx: float, cy: float, size: float
) -> list[tuple[float, float]]:
    """Points around the unit circle, rotated, scaled and translated."""
    c, s = math.cos(angle) * size, math.sin(angle) * size
    return [(cx + x * c - y * s, cy + x * s + y * c) for x, y in points]


def outline_of(r: Random, kind: str) -> tuple[list[tuple[float, float]], float]:
    """Corners of a flat shape of about radius 1, and its maximum rotation."""
    if kind == "square":
        return [(-0.82, -0.82), (0.82, -0.82), (0.82, 0.82), (-0.82, 0.82)], 0.28
    if kind == "diamond":
        width = r.uniform(0.6, 0.75)
        return [(0, -1), (width, 0), (0, 1), (-width, 0)], 0.2
    if kind == "triangle":
        return [(math.sin(a), -math.cos(a)) for a in (0, 2.0944, 4.1888)], r.choice((0.3, 0.3, 3.2))
    if kind == "star":
        inner, count = r.uniform(0.38, 0.5), 5
        return [
            (
                (1 if i % 2 == 0 else inner) * math.sin(i * math.pi / count),
                -(1 if i % 2 == 0 else inner) * math.cos(i * math.pi / count),
            )
            for i in range(2 * count)
        ], 0.35
    if kind == "cross":
        t = r.uniform(0.24, 0.38)
        return [
            (-t, -1),
            (t, -1),
            (t, -t),
            (1, -t),
            (1, t),
            (t, t),
            (t, 1),
            (-t, 1),
            (-t, t),
            (-1, t),
            (-1, -t),
            (-t, -t),
        ], 0.2
    if kind == "heart":
        steps = [2 * math.pi * i / 40 for i in range(40)]
        return [
            (
                16 * math.sin(t) ** 3 / 17,
                -(13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)) / 17,
            )
            for t in steps
        ], 0.3
    return [(math.sin(2 * math.pi * i / 48), -math.cos(2 * math.pi * i / 48)) for i in range(48)], 0.0


def flat(
    r: Random, image: Image.Image, kind: str, color: RGB, cx: float, cy: float, size: float, edge: RGB | None
) -> None:
    """Draws a flat shape of radius `size` in pixels; sometimes with a gradient inside, sometimes outlined."""
    points, freedom = outline_of(r, kind)
    points = turned(points, r.uniform(-freedom, freedom), cx, cy, size)
    mask = Image.new("L", image.size, 0)
    pen = ImageDraw.Draw(mask)
    pen.polygon(points, fill=255)
    if kind == "ring":
        inner = size * r.uniform(0.5, 0.72)
        pen.ellipse([cx - inner, cy - inner, cx + inner, cy + inner], fill=0)
    if r.random() < 0.2:
        box = mask.getbbox() or (0, 0, 1, 1)
        fill = gradient((box[2] - box[0], box[3] - box[1]), shade(color, 0.86), shade(color, 1.1), r.uniform(0, 6.3))
        image.paste(fill, box[:2], mask.crop(box))
    else:
        image.paste(color, (0, 0, *image.size), mask)
    if edge is not None and kind != "ring":
        ImageDraw.Draw(image).line(
            [*points, *points[:2]], fill=edge, width=max(1, round(size * r.uniform(0.04, 0.12))), joint="curve"
        )


def lit(
    color: RGB, x: np.ndarray, y: np.ndarray, z: np.ndarray, light: tuple[float, float, float], gloss: float
) -> np.ndarray:
    """Shaded pixels of a surface with normals (x, y, z): ambient, diffuse and a highlight."""
    lx, ly, lz = light
    diffuse = np.clip(x * lx + y * ly + z * lz, 0, 1)
    shine = np.clip(2 * diffuse * z - lz, 0, 1) ** 24 * gloss
    level = 0.42 + 0.62 * diffuse
    return np.clip(np.array(color) * level[..., None] + 255 * shine[..., None], 0, 255)


def solid(
    r: Random,
    image: Image.Image,
    kind: str,
    color: RGB,
    cx: float,
    cy: float,
    size: float,
    light: tuple[float, float, float],
) -> None:
    """Draws a solid of about radius `size` with light from one side, and its shadow on the ground."""
    n = max(8, round(2 * size))
    grid = (np.arange(n) + 0.5) / n * 2 - 1
    x, y = np.meshgrid(grid, grid)
    gloss = r.choice((0.0, 0.3, 0.8))
    if kind == "ball":
        inside = x**2 + y**2 <= 0.92
        z = np.sqrt(np.clip(1 - x**2 - y**2, 0, 1))
        pixels = lit(color, x, y, z, light, gloss)
    elif kind == "cylinder":
        half, top, tilt = r.uniform(0.5, 0.72), r.uniform(0.62, 0.85), r.uniform(0.12, 0.28)
        cap = (x / half) ** 2 + ((y + top) / tilt) ** 2 <= 1
        bend = np.sqrt(np.clip(1 - (x / half) ** 2, 0, 1)) * tilt
        inside = cap | ((np.abs(x) <= half) & (y >= -top) & (y <= top - tilt + bend))
        across = np.clip(x / half, -1, 1)
        pixels = lit(color, across, 0 * x, np.sqrt(1 - across**2), light, gloss)
        pixels = np.where(
            cap[..., None], np.clip(np.array(color) * (0.55 + 0.5 * max(0.0, -light[1] + 0.4)), 0, 255), pixels
        )
    elif kind == "cone":
        foot, tilt, half = r.uniform(0.6, 0.75), r.uniform(0.12, 0.25), r.uniform(0.6, 0.85)
        width = np.clip((y + 0.95) / (foot + 0.95), 1e-3, None) * half
        bend = np.sqrt(np.clip(1 - (x / half) ** 2, 0, 1)) * tilt
        inside = (y >= -0.95) & (np.abs(x) <= width) & (y <= foot + bend)
        across = np.clip(x / width, -1, 1)
        pixels = lit(color, across * 0.95, np.full_like(x, -0.3), np.sqrt(1 - across**2) * 0.95, light, gloss)
    else:
        pixels, inside = cube_pixels(r, color, x, y, light)
    if r.random() < 0.85:
        shadow(r, image, cx, cy, size, light)
    cut = Image.fromarray(pixels.astype(np.uint8), "RGB")
    image.paste(cut, (round(cx - n / 2), round(cy - n / 2)), Image.fromarray((inside * 255).astype(np.uint8), "L"))


def cube_pixels(
    r: Random, color: RGB, x: np.ndarray, y: np.ndarray, light: tuple[float, float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """A cube seen from above one edge: the top and two sides."""
    n = len(x)
    yaw, pitch = r.uniform(0.2, 1.37), r.uniform(0.3, 0.75)
    c, s, edge = math.cos(yaw), math.sin(yaw), 0.62

    def project(px: float, py: float, pz: float) -> tuple[float, float]:
        across, depth = px * c + py * s, -px * s + py * c
        return ((across * edge + 1) / 2 * n, ((-pz * math.cos(pitch) - depth * math.sin(pitch)) * edge + 1) / 2 * n)

    layer, mask = Image.new("RGB", (n, n)), Image.new("L", (n, n))
    sides = [
        ([(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)], (0, -math.cos(pitch), math.sin(pitch))),
        ([(-1, -1, -1), (1, -1, -1), (1, -1, 1), (-1, -1, 1)], (-s, math.sin(pitch) * c, math.cos(pitch) * c)),
        ([(-1, -1, -1), (-1, 1, -1), (-1, 1, 1), (-1, -1, 1)], (-c, -math.sin(pitch) * s, -math.cos(pitch) * s)),
        ([(1, -1, -1), (1, 1, -1), (1, 1, 1), (1, -1, 1)], (c, math.sin(pitch) * s, math.cos(pitch) * s)),
    ]
    for corners, normal in sides:
        if normal[2] <= 0:
            continue
        level = 0.45 + 0.6 * max(0.0, sum(a * b for a, b in zip(normal, light)))
        outline = [project(*corner) for corner in corners]
        ImageDraw.Draw(layer).polygon(outline, fill=tuple(min(255, round(v * level)) for v in color))
        ImageDraw.Draw(mask).polygon(outline, fill=255)
    return np.asarray(layer).astype(np.float64), np.asarray(mask) > 0


def shadow(r: Random, image: Image.Image, cx: float, cy: float, size: float, light: tuple[float, float, float]) -> None:
    """A soft dark ellipse under a solid, away from the light."""
    n = round(3.2 * size)
    mask = Image.new("L", (n, n), 0)
    width, height = size * r.uniform(0.75, 1.0), size * r.uniform(0.18, 0.4)
    ImageDraw.Draw(mask).ellipse(
        [n / 2 - width, n / 2 - height, n / 2 + width, n / 2 + height], fill=round(255 * r.uniform(0.25, 0.6))
    )
    mask = mask.filter(ImageFilter.GaussianBlur(max(1, size * r.uniform(0.03, 0.12))))
    image.paste(
        (0, 0, 0), (round(cx - n / 2 - light[0] * size * 0.35), round(cy + size * r.uniform(0.68, 0.85) - n / 2)), mask
    )


def text_mask(
    r: Random, size: tuple[int, int], lines: list[str], font_path: Path, width: float, tilt: float
) -> Image.Image:
    """Printed lines as an alpha mask of the canvas, in a size at which the widest line takes `width` of the canvas if it fits."""
    w, h = size
    probe = ImageFont.truetype(str(font_path), 100)
    widest = max(probe.getlength(line) for line in lines)
    points = min(width * w / widest, 0.8 * h / (1.3 * len(lines))) * 100
    points = min(points, 62 / 100 * h) if len(lines) == 1 else points
    font = ImageFont.truetype(str(font_path), max(8, points if points > 1 else 8))
    mask = Image.new("L", size, 0)
    draw = ImageDraw.Draw(mask)
    block = "\n".join(lines)
    box = draw.multiline_textbbox((0, 0), block, font=font, align="center", spacing=points * 0.15)
    x = (w - (box[2] - box[0])) * r.uniform(0.25, 0.75) - box[0]
    y = (h - (box[3] - box[1])) * r.uniform(0.15, 0.85) - box[1]
    draw.multiline_text(
        (x, y),
        block,
        font=font,
        fill=255,
        align=r.choice(("center", "left")) if len(lines) > 1 else "center",
        spacing=points * 0.15,
    )
    if tilt:
        mask = mask.rotate(tilt, Image.Resampling.BICUBIC)
    return mask


def spoil(r: Random, image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Degrades a picture: reduced to `size`, sometimes out of focus, noisy or compressed as JPEG."""
    image = image.resize(
        size,
        r.choice((Image.Resampling.BOX, Image.Resampling.BICUBIC, Image.Resampling.LANCZOS, Image.Resampling.BILINEAR)),
    )
    if r.random() < 0.15:
        image = image.filter(ImageFilter.GaussianBlur(r.uniform(0.3, 1.2) * min(size) / 384))
    if r.random() < 0.35:
        stored = BytesIO()
        image.save(stored, "JPEG", quality=r.randint(35, 95))
        image = Image.open(stored).convert("RGB")
    return image
