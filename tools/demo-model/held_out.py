"""Writes held-out prompts with their expected answers, as JSON.

    python3 held_out.py OUT.json [--scale N]

Names, cities, animals, countable things, exercises and seeds are those that training never used. `--scale 1` gives the
twenty prompts of packages/demo-model/held-out.json, larger numbers so many times as many.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import corpus
from arithmetic import exercise, question, word_problem
from dialogue import Turn
from json_answers import json_answer
from stories import make_world, request
from talk import fact, feelings, greeting, unknown
from tool_use import CALCULATE, GET_WEATHER, calculate_turn, weather_turn
from words import Lexicon

SEED = 404
HELD_OUT = Lexicon(True)
CHOICE = (
    "Name ",
    "List ",
    "Tell me ",
    "Give me a",
    "I am hungry",
    "I want to eat",
    "joke",
    "Make me laugh",
    "What should I do",
    "What can I do today",
    "Give me an idea",
)


def arithmetic_prompt(r, index: int) -> dict:
    a, op, b = exercise(r, True, negative=False)
    if index % 5 == 3:
        ask, answer = word_problem(r, HELD_OUT, a, op, b)
        return {"prompt": ask, "expect": {"text": answer}}
    ask, answer = question(r, a, op, b)
    return {"prompt": ask, **({"thinking": True} if index % 5 == 4 else {}), "expect": {"text": answer}}


def json_prompt(r, index: int) -> dict:
    made = json_answer(r, HELD_OUT)
    wanted = json.loads(made.turns[0].answer)
    return {
        "prompt": made.turns[0].user,
        **({"system": made.system} if made.system else {}),
        "expect": {"json": "array" if isinstance(wanted, list) else list(wanted)},
    }


def tool_prompt(r, index: int) -> dict:
    turn = weather_turn(r, HELD_OUT, "city", {}) if index % 2 == 0 else calculate_turn(r, "expression")
    use = turn.uses[0]
    return {"prompt": turn.user, "tools": True, "expect": {"toolCall": {"name": use.name, "arguments": use.arguments}}}


def talk_prompt(r, index: int) -> dict:
    """Only questions that have one right answer."""
    while True:
        turn: Turn = r.choice((fact, fact, greeting, feelings, unknown))(r, HELD_OUT)[0]
        if not any(part in turn.user for part in CHOICE):
            return {"prompt": turn.user, "expect": {"text": turn.answer}}


def story_prompt(r, index: int) -> dict:
    world = make_world(r, HELD_OUT)
    return {"prompt": request(r, world, with_name=True), "expect": {"mentions": [world.hero.name], "words": 60}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", type=int, default=1)
    arguments = parser.parse_args()
    prompts = []
    for kind, make, count in (
        ("arithmetic", arithmetic_prompt, 5),
        ("json", json_prompt, 4),
        ("tools", tool_prompt, 4),
        ("talk", talk_prompt, 4),
        ("story", story_prompt, 3),
    ):
        r = corpus.seeded(SEED, kind)
        prompts += [{"kind": kind, **make(r, index)} for index in range(count * arguments.scale)]
    arguments.out.write_text(
        json.dumps({"seed": SEED, "tools": [GET_WEATHER, CALCULATE], "prompts": prompts}, indent=2, ensure_ascii=False)
        + "\n"
    )
    print(len(prompts), "prompts")


if __name__ == "__main__":
    main()
