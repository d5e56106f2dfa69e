"""Pictures and clips with their conversations, packed into rows of tokens, where soft tokens replace placeholders.

A row holds ids, document numbers, loss weights and, for each placeholder, which soft token stands there (0: none).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from tokenizers import Tokenizer

import corpus
from architecture import token_id
from scenes import BLOCKS, make_scene, patches_of, question

ROW = corpus.ROW_TOKENS
IDS, DOCUMENTS, WEIGHTS, SOURCES = range(4)
TRANSCRIBE = [
    "Transcribe the audio.",
    "Transcribe this.",
    "Transcribe the speech.",
    "Transcribe this audio.",
    "Write down what you hear.",
    "What do you hear?",
    "What is said?",
    "What does the voice say?",
    "Transcribe the following speech segment.",
    "",
]
REPLY = ["Answer the question.", "Answer.", "Reply to this.", "Listen and answer."]


@dataclass
class Sample:
    """One conversation with a picture or a clip: ids, loss weights, and the index of the soft token at each position, or -1."""

    ids: np.ndarray
    weights: np.ndarray
    soft: np.ndarray


class Writer:
    """Writes conversations about one picture or clip in the prompt syntax of Gemma 4."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.known: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        """Cached ids of a text."""
        if text not in self.known:
            if len(self.known) > 5000:
                self.known.clear()
            self.known[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self.known[text]

    def prompt(self, medium: str, count: int, ask: str, asked_first: bool) -> Sample:
        """The user's turn with `count` placeholders, up to the start of the answer."""
        before, after = (ask, "") if asked_first else ("", ask)
        head = self.ids(f"<bos><|turn>user\n{before}<|{medium}>")
        tail = self.ids(f"<{medium}|>{after}<turn|>\n<|turn>model\n")
        size = len(head) + count + len(tail)
        ids, soft = np.full(size, token_id("<pad>")), np.full(size, -1)
        ids[: len(head)], ids[len(head) + count :] = head, tail
        soft[len(head) : len(head) + count] = np.arange(count)
        return Sample(ids, np.zeros(size, np.int64), soft)

    def add(self, sample: Sample, text: str, weight: int) -> Sample:
        """The sample with more text appended."""
        more = self.ids(text)
        return Sample(
            np.concatenate((sample.ids, more)),
            np.concatenate((sample.weights, np.full(len(more), weight))),
            np.concatenate((sample.soft, np.full(len(more), -1))),
        )

    def answered(self, medium: str, count: int, ask: str, asked_first: bool, answer: str) -> Sample:
        return self.add(self.prompt(medium, count, ask, asked_first), f"{answer}<turn|>", 1)


def pack(samples: list[Sample], bases: list[int], rows: int) -> np.ndarray:
    """Rows [4, rows, ROW] int32; sample i's soft token j is number bases[i] + j. Samples that do not fit are dropped."""
    out = np.zeros((4, rows, ROW), np.int32)
    row, at, document = 0, 0, 0
    for sample, base in zip(samples, bases, strict=True):
        size = len(sample.ids)
        if at + size > ROW:
            row, at, document = row + 1, 0, 0
        if row == rows:
            break
        document += 1
        span = slice(at, at + size)
        out[IDS, row, span], out[DOCUMENTS, row, span], out[WEIGHTS, row, span] = sample.ids, document, sample.weights
        out[SOURCES, row, span] = np.where(sample.soft >= 0, sample.soft + base, 0)
        at += size
    return out


def scene_sample(r: Random, writer: Writer, scene, grid: tuple[int, int]) -> Sample:
    """One to three questions about a scene."""
    ask, answer = question(r, scene)
    sample = writer.answered("image", grid[0] * grid[1], ask, r.random() < 0.25, answer)
    while r.random() < 0.45 and len(sample.ids) < 170:
        ask, answer = question(r, scene)
        sample = writer.add(sample, f"\n<|turn>user\n{ask}<turn|>\n<|turn>model\n", 0)
        sample = writer.add(sample, f"{answer}<turn|>", 1)
    return sample


def scene_unit(
    writer: Writer, seed: int, number: int, count: int, rows: int, fonts: list[Path]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`count` pictures as patches [count, 9 · BLOCKS, 768], their grids [count, 2], and rows whose soft tokens begin at 1."""
    patches = np.zeros((count, BLOCKS * 9, 768), np.uint8)
    grids = np.zeros((count, 2), np.uint8)
    samples = []
    for i in range(count):
        index = number * count + i
        scene = make_scene(seed, index, fonts, held_out=False)
        pixels, grid = patches_of(scene.image)
        patches[i], grids[i] = pixels.reshape(-1, 768), grid
        samples.append(scene_sample(corpus.seeded(seed, "questions", index), writer, scene, grid))
    return patches, grids, pack(samples, [1 + i * BLOCKS for i in range(count)], rows)


def clip_sample(r: Random, writer: Writer, text: dict, count: int) -> Sample:
    """A clip to transcribe, or to answer if it is a question."""
    if text["answer"] and r.random() < 0.2:
        return writer.answered("audio", count, r.choice(REPLY), r.random() < 0.3, text["answer"])
    return writer.answered("audio", count, r.choice(TRANSCRIBE), r.random() < 0.3, text["transcript"])
