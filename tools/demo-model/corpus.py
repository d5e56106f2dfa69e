"""The mixture of conversations, and shards of token rows packed from it.

A shard is a function of (seed, index) alone, so training may make shards in any number of processes and resume at any
step. Rows hold several conversations each; `document` numbers them within a row, so that none sees its neighbours.
"""

from __future__ import annotations

import zlib
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from arithmetic import arithmetic
from dialogue import Conversation, segments
from json_answers import json_answer
from stories import story_turns
from talk import fact, opening_turns, talk_turns
from tool_use import tool_use
from words import Lexicon

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ROW_TOKENS = 1024
ROWS_PER_SHARD = 512
WEIGHT_UNIT = 0.25  # loss weights are stored as multiples of this
SYSTEMS = [
    "You are a helpful assistant.",
    "Be brief.",
    "You are a friendly assistant.",
    "Answer in simple English.",
    "You are a helpful assistant. Be brief.",
    "Answer briefly and clearly.",
    "You are a small language model.",
    "You are a kind teacher.",
    "Help the user.",
]
KINDS = ["arithmetic", "story", "talk", "json", "tools", "mixed"]
SHARES = [0.19, 0.21, 0.27, 0.14, 0.14, 0.05]


def careless(r: Random, text: str) -> str:
    """A request as people type it: sometimes without capital letters or the final punctuation mark."""
    if r.random() < 0.1 and len(text) > 1 and text[1].islower():
        text = text[0].lower() + text[1:]
    if r.random() < 0.1 and text[-1] in ".?!":
        text = text[:-1].rstrip()
    return text


def conversation(r: Random, lexicon: Lexicon, kind: str, small: float = 0.0) -> Conversation:
    """One conversation of a kind; `small` makes exercises easier."""
    if kind == "arithmetic":
        made = arithmetic(r, lexicon, small)
    elif kind == "story":
        made = Conversation(story_turns(r, lexicon))
    elif kind == "talk":
        turns = opening_turns(r, lexicon)
        while r.random() < 0.45 and len(turns) < 6:
            turns = turns + talk_turns(r, lexicon)
        made = Conversation(turns)
        for turn in turns:
            turn.weight = 2.0
    elif kind == "json":
        made = json_answer(r, lexicon)
    elif kind == "tools":
        made = tool_use(r, lexicon)
    else:
        # Long conversations, so that the model learns to use distant context.
        makers = [
            lambda: talk_turns(r, lexicon),
            lambda: arithmetic(r, lexicon, small).turns[:2],
            lambda: story_turns(r, lexicon),
            lambda: json_answer(r, lexicon).turns,
            lambda: fact(r, lexicon),
        ]
        count = r.randint(2, 3) if r.random() < 0.6 else r.randint(4, 9)
        made = Conversation([turn for _ in range(count) for turn in r.choice(makers)()])
        for turn in made.turns:
            turn.thought = None
    if not lexicon.held_out:
        for turn in made.turns:
            turn.user = careless(r, turn.user)
        if not made.system and not made.thinking and r.random() < 0.1:
            made.system = r.choice(SYSTEMS)
    return made


def seeded(seed: int, *parts: int | str) -> Random:
    """A random generator seeded by all parts, the same on every machine."""
    return Random(zlib.crc32(repr((seed, *parts)).encode()) + (seed << 32))


def make_shard(
    tokenizer: Tokenizer, seed: int, index: int, held_out: bool = False, rows: int = ROWS_PER_SHARD
) -> np.ndarray:
    """Packed rows [rows, 3, ROW_TOKENS] uint16: token ids, document numbers (0 = padding), loss weights."""
    r, lexicon = seeded(seed, "shard", index, held_out), Lexicon(held_out)
    small = max(0.05, 0.6 - index / 300)
    out = np.zeros((rows, 3, ROW_TOKENS), np.uint16)
    lengths, documents = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    first_open, row = 0, 0
    while True:
        batch = [segments(conversation(r, lexicon, r.choices(KINDS, SHARES)[0], small)) for _ in range(256)]
        flat = [piece for pieces in batch for piece in pieces]
        encoded = tokenizer.encode_batch_fast([text for text, _ in flat], add_special_tokens=False)
        at = 0
        for pieces in batch:
            ids = [encoding.ids for encoding in encoded[at : at + len(pieces)]]
            weights = [round(weight / WEIGHT_UNIT) for _, weight in pieces]
            at += len(pieces)
            # Text after the model's last piece is never appended, so that the end is exact.
            size = sum(map(len, ids))
            if size > ROW_TOKENS:
                continue
            row = first_open
            while row < rows and lengths[row] + size > ROW_TOKENS:
                row += 1
            if row >= rows:
                return out
            start = lengths[row]
            documents[row] += 1
            for part, weight in zip(ids, weights):
                end = start + len(part)
                out[row, 0, start:end] = part
                out[row, 1, start:end] = documents[row]
                out[row, 2, start:end] = weight
                start = end
            lengths[row] = start
            while first_open < rows and lengths[first_open] > ROW_TOKENS - 12:
                first_open += 1
            if row - first_open > 48:
                first_open += 1
