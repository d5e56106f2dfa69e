"""Greedy answers about pictures and clips in batches, and their accuracy."""

from __future__ import annotations

import re

import torch
from tokenizers import Tokenizer
from torch import Tensor

from media import Sample
from model import TextModel
from scene_draw import COLORS, KINDS
from scenes import PLACES

STOPS = ("<eos>", "<turn|>", "<|tool_response>")
THING = re.compile(
    rf"({'|'.join(COLORS)}) ({'|'.join(KINDS)}) ({'|'.join(sorted(sum(PLACES, []), key=len, reverse=True))})"
)


class Reader:
    """Generation without a cache, which a small model on a large GPU does not need."""

    def __init__(self, text: TextModel, tokenizer: Tokenizer, device: torch.device, dtype: torch.dtype) -> None:
        self.text, self.tokenizer, self.device, self.dtype = text, tokenizer, device, dtype
        self.stops = torch.tensor([tokenizer.token_to_id(token) for token in STOPS], device=device)

    @torch.no_grad()
    def run(self, prompts: list[Sample], soft: Tensor, most: int = 64) -> list[str]:
        """Answers to prompts; `soft` [B, S, D] holds the soft tokens of each."""
        size = (max(len(sample.ids) for sample in prompts) + most + 7) // 8 * 8
        rows = torch.zeros((len(prompts), size), dtype=torch.long)
        source = torch.zeros_like(rows)
        for i, sample in enumerate(prompts):
            rows[i, : len(sample.ids)] = torch.from_numpy(sample.ids)
            at = torch.from_numpy(sample.soft)
            source[i, : len(at)] = torch.where(at >= 0, at + 1 + i * soft.shape[1], 0)
        rows, source = rows.to(self.device), source.to(self.device)
        table = torch.cat((soft.new_zeros(1, soft.shape[-1]), soft.flatten(0, 1)))
        start = torch.tensor([len(sample.ids) for sample in prompts], device=self.device)
        ends, running = start.clone(), torch.ones(len(prompts), dtype=torch.bool, device=self.device)
        for _ in range(most):
            span = (int(ends.max()) + 7) // 8 * 8
            best = self.text.logits(rows[:, :span], ends - 1, self.dtype, table, source[:, :span]).argmax(-1)
            running = running & ~torch.isin(best, self.stops)
            rows[running, ends[running]] = best[running]
            ends = ends + running
            if not running.any():
                break
        return [
            self.tokenizer.decode(row[first:last], skip_special_tokens=False)
            for row, first, last in zip(rows.tolist(), start.tolist(), ends.tolist(), strict=True)
        ]


def things_in(text: str) -> list[tuple[str, ...]]:
    """Colour, kind and place of everything that a description mentions."""
    return [match.groups() for match in THING.finditer(text)]


def attributes(wanted: str, given: str) -> tuple[int, int]:
    """Right and expected attributes of an answer: colour, kind and place of each thing of a description, else its words.

    Things are paired by their place, the rest in order; what is told beyond the scene counts as a wrong attribute each.
    """
    things, told = things_in(wanted), things_in(given)
    if not things:
        expected, answer = wanted.split(), given.split()
        return sum(a == b for a, b in zip(expected, answer)), max(len(expected), len(answer))
    right, left, rest = 0, list(told), []
    for thing in things:
        match = next((other for other in left if other[2] == thing[2]), None)
        if match is None:
            rest.append(thing)
        else:
            left.remove(match)
            right += sum(a == b for a, b in zip(thing, match))
    for thing, other in zip(rest, left):
        right += sum(a == b for a, b in zip(thing, other))
    return right, 3 * max(len(things), len(told))
