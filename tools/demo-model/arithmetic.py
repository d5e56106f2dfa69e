"""Sums and differences of whole numbers below 100: plain questions, small word problems, and worked reasoning."""

from __future__ import annotations

from random import Random

from dialogue import Conversation, Turn
from words import Lexicon

PLUS, MINUS = "+", "-"
TOO_BIG = "That is too big for me. I can add and subtract numbers below 100."


def is_held_out(a: int, op: str, b: int) -> bool:
    """True for the five percent of the exercises that training never sees (none of them has two one-digit numbers)."""
    if a < 10 and b < 10:
        return False
    return (a * 7919 + b * 104729 + (17 if op == PLUS else 5)) % 1009 % 20 == 0


def exercise(r: Random, held_out: bool, small: float = 0.0, negative: bool = True) -> tuple[int, str, int]:
    """Two numbers below 100 and an operation; `small` is the share of exercises with numbers up to 20."""
    while True:
        top = 20 if r.random() < small else 99
        a, b, op = r.randint(0, top), r.randint(0, top), r.choice((PLUS, MINUS))
        if op == MINUS and a < b and (not negative or r.random() < 0.7):
            a, b = b, a
        if is_held_out(a, op, b) == held_out:
            return a, op, b


def value(a: int, op: str, b: int) -> int:
    return a + b if op == PLUS else a - b


def question(r: Random, a: int, op: str, b: int) -> tuple[str, str]:
    """A plain question and its answer."""
    sign = op if r.random() < 0.7 else ("plus" if op == PLUS else "minus")
    result = value(a, op, b)
    form = r.random()
    if form < 0.18:
        gap = r.choice((" ", " ", ""))
        ask = f"{a}{gap}{op}{gap}{b}{gap}=" + r.choice(("", " ?", "?"))
    elif form < 0.28:
        ask = f"{a} {op} {b}" if r.random() < 0.6 else f"{a}{op}{b}"
    elif form < 0.36 and op == PLUS:
        ask = r.choice([f"Add {a} and {b}.", f"Add {b} to {a}.", f"What is the sum of {a} and {b}?"])
    elif form < 0.36:
        ask = r.choice(
            [f"Subtract {b} from {a}.", f"Take {b} away from {a}.", f"What is the difference between {a} and {b}?"]
        )
    else:
        ask = r.choice(
            [
                f"What is {a} {sign} {b}?",
                f"What is {a} {sign} {b}?",
                f"How much is {a} {sign} {b}?",
                f"Calculate {a} {sign} {b}.",
                f"Compute {a} {op} {b}.",
                f"Please tell me what {a} {sign} {b} is.",
                f"Can you tell me what {a} {sign} {b} is?",
                f"and {a} {sign} {b}?",
                f"What's {a} {sign} {b}?",
                f"{a} {sign} {b} is?",
                f"Solve {a} {sign} {b}.",
                f"What do you get for {a} {sign} {b}?",
            ]
        )
    return ask.strip(), f"{a} {op} {b} = {result}"


def word_problem(r: Random, lexicon: Lexicon, a: int, op: str, b: int) -> tuple[str, str]:
    """A small story with a number to find, and the answer with its sum."""
    name, gender = lexicon.person(r)
    he, things = ("She" if gender == "f" else "He"), lexicon.countable(r)
    result = value(a, op, b)
    if op == PLUS:
        ask = r.choice(
            [
                f"{name} has {a} {things} and gets {b} more. How many {things} does {name} have now?",
                f"There are {a} {things} on the table. {name} puts {b} more on it. How many {things} are there now?",
                f"I have {a} {things} and buy {b} more. How many {things} do I have?",
                f"If you have {a} {things} and get {b} more, how many {things} do you have?",
                f"{name} found {a} {things} today and {b} {things} yesterday. How many {things} is that?",
            ]
        )
    else:
        ask = r.choice(
            [
                f"{name} has {a} {things} and gives away {b}. How many {things} are left?",
                f"There are {a} {things} in the box. {name} takes {b} of them. How many {things} are left?",
                f"I have {a} {things} and lose {b}. How many {things} do I have?",
                f"If you have {a} {things} and give away {b}, how many {things} are left?",
                f"{name} had {a} {things}. {he} lost {b}. How many {things} does {name} have now?",
            ]
        )
    return ask, f"{a} {op} {b} = {result}, so the answer is {result} {things}."


def reasoning(a: int, op: str, b: int) -> str:
    """The worked steps of an exercise, ones before tens."""
    if op == PLUS:
        ones = a % 10 + b % 10
        carry = ones // 10
        tens = a // 10 + b // 10 + carry
        return (
            f"Ones: {a % 10} + {b % 10} = {ones}. "
            + (f"Write {ones % 10}, carry 1. " if carry else "")
            + f"Tens: {a // 10} + {b // 10}"
            + (" + 1" if carry else "")
            + f" = {tens}. Result: {value(a, op, b)}."
        )
    if a < b:
        return f"{a} is less than {b}, so the result is below zero. {b} - {a} = {b - a}. Result: {a - b}."
    borrow = a % 10 < b % 10
    ones = a % 10 - b % 10 + (10 if borrow else 0)
    return (
        f"Ones: {a % 10 + (10 if borrow else 0)} - {b % 10} = {ones}"
        + (", with one borrowed" if borrow else "")
        + f". Tens: {a // 10}"
        + (" - 1" if borrow else "")
        + f" - {b // 10} = {a // 10 - b // 10 - borrow}. Result: {a - b}."
    )


def other_turn(r: Random) -> Turn:
    """The small multiplication table, and exercises that are too big, with an honest answer."""
    if r.random() < 0.6:
        a, b = r.randint(0, 10), r.randint(0, 10)
        return Turn(
            r.choice(
                [
                    f"What is {a} times {b}?",
                    f"What is {a} * {b}?",
                    f"{a} * {b}",
                    f"{a} x {b} =",
                    f"How much is {a} times {b}?",
                ]
            ),
            f"{a} * {b} = {a * b}",
            weight=2.0,
        )
    a, b = (r.randint(100, r.choice((999, 99999))) for _ in range(2))
    if r.random() < 0.4:
        b = r.randint(1, 99)
    sign = r.choice("+-*/") if a > 99 and b > 9 else r.choice("+-")
    return Turn(
        r.choice([f"What is {a} {sign} {b}?", f"{a} {sign} {b}", f"Calculate {a} {sign} {b}.", f"{a} {sign} {b} ="]),
        TOO_BIG,
    )


def arithmetic_turn(r: Random, lexicon: Lexicon, small: float = 0.0, problems: float = 0.2) -> Turn:
    if not lexicon.held_out and r.random() < 0.08:
        return other_turn(r)
    if r.random() < problems:
        a, op, b = exercise(r, lexicon.held_out, small, negative=False)
        ask, answer = word_problem(r, lexicon, a, op, b)
    else:
        a, op, b = exercise(r, lexicon.held_out, small)
        ask, answer = question(r, a, op, b)
    return Turn(ask, answer, weight=3.0)


def arithmetic(r: Random, lexicon: Lexicon, small: float = 0.0) -> Conversation:
    """One to ten exercises in a row; one conversation in ten shows the steps in the thinking channel."""
    if r.random() < 0.1:
        a, op, b = exercise(r, lexicon.held_out, small)
        ask, answer = question(r, a, op, b)
        return Conversation([Turn(ask, answer, thought=reasoning(a, op, b), weight=3.0)], thinking=True)
    count = r.choice((1, 1, 2, 4, 8, 10))
    return Conversation([arithmetic_turn(r, lexicon, small) for _ in range(count)])
