"""Renders ten "photographs" of plain objects on a table by marching rays: a test that shares no code with training's pictures.

    python3 render_photos.py ../../packages/demo-model/held-out/photographs

Perspective, soft shadows, ambient occlusion, reflections of a bright window, textured tables, film grain. Needs numpy and pillow.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image

WIDTH, HEIGHT, OVER = 256, 192, 2
FAR, STEPS = 14.0, 70
COLORS = {
    "red": (0.62, 0.03, 0.03),
    "orange": (0.85, 0.24, 0.01),
    "yellow": (0.85, 0.62, 0.02),
    "green": (0.03, 0.34, 0.06),
    "blue": (0.02, 0.07, 0.55),
    "purple": (0.2, 0.03, 0.36),
    "pink": (0.85, 0.25, 0.45),
    "brown": (0.15, 0.05, 0.015),
    "black": (0.012, 0.012, 0.012),
    "white": (0.85, 0.85, 0.85),
}
# Kind, colour, x, depth, size; then the table, the wall, the side of the light, the height of the camera.
PHOTOS = [
    ([("ball", "red", 0.0, 0.0, 0.8)], "wood", (0.6, 0.58, 0.52), -1, 1.7),
    ([("cube", "blue", 0.0, 0.0, 0.7)], "plain", (0.75, 0.72, 0.66), 1, 2.2),
    ([("cylinder", "green", 0.0, 0.0, 0.75)], "cloth", (0.5, 0.55, 0.62), -1, 1.9),
    ([("cone", "orange", 0.0, 0.0, 0.8)], "tiles", (0.32, 0.34, 0.37), 1, 1.8),
    ([("ball", "yellow", -1.75, 0.0, 0.6), ("cube", "purple", 1.75, 0.0, 0.55)], "plain", (0.55, 0.6, 0.55), 1, 1.9),
    ([("ball", "green", -1.75, 0.0, 0.6), ("cylinder", "red", 1.75, 0.0, 0.6)], "wood", (0.7, 0.68, 0.64), -1, 2.0),
    ([("cone", "blue", -1.75, 0.0, 0.65), ("ball", "white", 1.75, 0.0, 0.6)], "cloth", (0.36, 0.3, 0.28), 1, 1.8),
    ([("ball", "pink", 0.0, 0.0, 0.75)], "tiles", (0.25, 0.3, 0.36), -1, 2.0),
    (
        [("cube", "red", -1.8, 0.0, 0.5), ("ball", "blue", 0.0, 0.0, 0.55), ("cone", "yellow", 1.8, 0.0, 0.6)],
        "plain",
        (0.62, 0.6, 0.58),
        -1,
        1.9,
    ),
    ([("ball", "black", 0.0, 0.0, 0.8)], "plain", (0.8, 0.78, 0.74), 1, 1.8),
]
PLACE = {-1: "on the left", 0: "in the center", 1: "on the right"}


def length(*parts: np.ndarray) -> np.ndarray:
    return np.sqrt(sum(part * part for part in parts))


def distance_to(thing: tuple, p: np.ndarray) -> np.ndarray:
    """Signed distance of points [..., 3] (x right, y up, z away) to an object that stands on the table, y = 0."""
    kind, _, x, z, size = thing
    q = p - np.array([x, size, z])
    if kind == "ball":
        return length(*np.moveaxis(q, -1, 0)) - size
    if kind == "cube":
        turn = 0.6
        half = size * 0.82
        a = np.cos(turn) * q[..., 0] + np.sin(turn) * q[..., 2]
        b = -np.sin(turn) * q[..., 0] + np.cos(turn) * q[..., 2]
        d = np.abs(np.stack((a, q[..., 1] + size - half, b), -1)) - (half - 0.03)
        return length(*np.moveaxis(np.maximum(d, 0), -1, 0)) + np.minimum(d.max(-1), 0) - 0.03
    around = length(q[..., 0], q[..., 2])
    if kind == "cylinder":
        d = np.stack((around - size * 0.62, np.abs(q[..., 1]) - size), -1) + 0.02
        return np.minimum(d.max(-1), 0) + length(*np.moveaxis(np.maximum(d, 0), -1, 0)) - 0.02
    # A cone: the slanted side and the foot.
    slope = np.array([2 * size, 0.8 * size]) / np.hypot(2 * size, 0.8 * size)
    return np.maximum(around * slope[0] + (q[..., 1] - size) * slope[1], -q[..., 1] - size) * 0.9


def scene_distance(things: list, p: np.ndarray) -> np.ndarray:
    return np.minimum.reduce([p[..., 1], *(distance_to(thing, p) for thing in things)])


def march(things: list, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Distance that rays [N, 3] travel before they hit something; FAR if they hit nothing."""
    t = np.zeros(len(direction))
    for _ in range(STEPS):
        d = scene_distance(things, origin + t[:, None] * direction)
        t = np.minimum(t + d, FAR)
    return t


def shadow(things: list, p: np.ndarray, light: np.ndarray) -> np.ndarray:
    """Fraction of a broad light that reaches points, 0 to 1."""
    lit, t = np.ones(len(p)), np.full(len(p), 0.04)
    for _ in range(24):
        d = np.minimum.reduce([distance_to(thing, p + t[:, None] * light) for thing in things])
        lit = np.minimum(lit, np.clip(6 * d / t, 0, 1))
        t += np.clip(d, 0.05, 0.5)
    return lit


def table_color(kind: str, p: np.ndarray, random: np.random.Generator) -> np.ndarray:
    x, z = p[:, 0], p[:, 2]
    if kind == "wood":
        rings = np.sin(9 * (x + 0.25 * np.sin(1.3 * z)) + 2 * np.sin(0.7 * z + 3 * x)) * 0.5 + 0.5
        return np.array([0.36, 0.2, 0.1]) * (0.72 + 0.4 * rings[:, None])
    if kind == "cloth":
        weave = 0.5 + 0.25 * (np.sin(60 * x) + np.sin(60 * z))
        return np.array([0.55, 0.52, 0.45]) * (0.8 + 0.25 * weave[:, None])
    if kind == "tiles":
        checks = (np.floor(x / 0.9) + np.floor(z / 0.9)) % 2
        return np.array([0.5, 0.5, 0.48]) * (0.7 + 0.3 * checks[:, None])
    return np.array([0.5, 0.48, 0.45]) * (0.95 + 0.05 * random.random((len(p), 1)))


def render(
    things: list, table: str, wall: tuple[float, float, float], side: int, height: float, seed: int
) -> Image.Image:
    random = np.random.default_rng(seed)
    w, h = WIDTH * OVER, HEIGHT * OVER
    u, v = np.meshgrid((np.arange(w) + 0.5) / w * 2 - 1, 1 - (np.arange(h) + 0.5) / h * 2)
    eye, target = np.array([0.15 * side, height, -5.2]), np.array([0.0, 0.62, 0.0])
    ahead = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross([0.0, 1.0, 0.0], ahead)
    right /= np.linalg.norm(right)
    up = np.cross(ahead, right)
    rays = ahead + (0.56 * u[..., None] * right + 0.42 * v[..., None] * up)
    rays = (rays / np.linalg.norm(rays, axis=-1, keepdims=True)).reshape(-1, 3)
    t = march(things, eye, rays)
    back = 4.5
    to_wall = (back - eye[2]) / np.where(rays[:, 2] > 0, rays[:, 2], 1e-9)
    is_wall = (t >= to_wall) | (t >= FAR)
    color = np.array(wall) * (0.75 + 0.25 * np.clip(1 - 0.12 * np.abs(rays[:, :1] * 8 - 2 * side), 0, 1))
    hit = np.flatnonzero(~is_wall)
    p = eye + t[hit, None] * rays[hit]
    eps = 1e-3
    normal = np.stack(
        [scene_distance(things, p + eps * axis) - scene_distance(things, p - eps * axis) for axis in np.eye(3)], -1
    )
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True) + 1e-9
    light = np.array([1.4 * side, 2.2, -1.6]) / np.linalg.norm([1.4, 2.2, 1.6])
    nearest = np.argmin([p[:, 1], *(distance_to(thing, p) for thing in things)], 0)
    albedo = table_color(table, p, random)
    for index, thing in enumerate(things, 1):
        albedo = np.where((nearest == index)[:, None], COLORS[thing[1]], albedo)
    lit = shadow(things, p + 0.01 * normal, light)[:, None]
    direct = np.clip(normal @ light, 0, 1)[:, None] * lit
    open_sky = np.clip(scene_distance(things, p + 0.25 * normal) / 0.25, 0, 1)[:, None]
    ambient = (0.22 + 0.12 * normal[:, 1:2]) * (0.35 + 0.65 * open_sky)
    half = light - rays[hit]
    half /= np.linalg.norm(half, axis=-1, keepdims=True)
    gloss = (np.clip((normal * half).sum(-1), 0, 1) ** 60)[:, None] * lit * (nearest > 0)[:, None] * 0.5
    color[hit] = albedo * (1.15 * direct + ambient * 1.3) + gloss
    fade = 1 - 0.18 * (u**2 + v**2).reshape(-1, 1) / 2
    color = np.clip(color * fade, 0, 1) ** (1 / 2.2) + random.normal(0, 0.012, color.shape)
    pixels = (np.clip(color, 0, 1) * 255).astype(np.uint8).reshape(h, w, 3)
    return Image.fromarray(pixels, "RGB").resize((WIDTH, HEIGHT), Image.Resampling.BOX)


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    entries = []
    for index, (things, *setting) in enumerate(PHOTOS):
        path = out / f"{index + 1:02}.jpg"
        render(things, *setting, seed=index).save(path, quality=86)
        told = [
            {"color": color, "kind": kind, "place": PLACE[int(np.sign(x))]}
            for kind, color, x, _, _ in sorted(things, key=lambda thing: thing[2])
        ]
        entries.append({"file": path.name, "things": told})
    (out / "photographs.json").write_text(json.dumps(entries, indent=2) + "\n")
    print(len(entries), "photographs,", sum(path.stat().st_size for path in out.iterdir()) // 1000, "kB")


if __name__ == "__main__":
    main()
