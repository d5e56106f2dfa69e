"""Requests for JSON and their answers: objects with the requested keys, arrays, nested objects, sums."""

from __future__ import annotations

import json
from random import Random

from arithmetic import exercise, value
from dialogue import Conversation, Turn
from words import (
    CAPITALS,
    COLORS,
    COMMON,
    DAYS,
    FOODS,
    FRUITS,
    HOBBIES,
    JOBS,
    NUMBER_WORDS,
    PETS,
    THINGS,
    Lexicon,
    article,
    join_words,
    made_up_word,
)

SYSTEMS = ["Answer in JSON.", "Reply only with JSON.", "Always answer in JSON.", "You answer with JSON only."]


def person_fields(r: Random, lexicon: Lexicon) -> dict[str, tuple[object, str]]:
    """Key -> (value, a sentence part that states it), for a made-up person."""
    age, pet, likes = r.randint(3, 99), r.choice(PETS), r.random() < 0.5
    city, job, color, food, hobby = (
        lexicon.city(r),
        r.choice(JOBS),
        r.choice(COLORS),
        r.choice(FOODS),
        r.choice(HOBBIES),
    )
    pet_name, children = lexicon.name(r), r.randint(0, 6)
    return {
        "age": (age, f"is {age} years old"),
        "city": (city, f"lives in {city}"),
        "job": (job, f"works as {article(job)}"),
        "color": (color, f"likes the color {color}"),
        "food": (food, f"likes to eat {food}"),
        "hobby": (hobby, f"likes {hobby}"),
        "pet": (pet, f"has {article(pet)}"),
        "children": (children, f"has {children} children"),
        "married": (likes, "is married" if likes else "is not married"),
        "pet_name": (pet_name, f"has a pet called {pet_name}"),
    }


def person(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    """A person with some of the fields, either described in the request or invented by the model."""
    is_described = r.random() < 0.65
    fields = person_fields(r, lexicon if is_described else Lexicon(False, plain=True))
    keys = r.sample(list(fields), r.randint(1, 4))
    name = lexicon.name(r)
    result: dict[str, object] = {"name": name, **{key: fields[key][0] for key in keys}}
    quote = '"' if r.random() < 0.2 else ""
    wanted = join_words([quote + key + quote for key in ("name", *keys)])
    if is_described:
        facts = [fields[key][1] for key in keys]
        facts = r.sample(facts, len(facts)) if r.random() < 0.3 else facts
        described = f"{name} {join_words(facts)}."
        if r.random() < 0.25:
            values = ", ".join(
                str(fields[key][0]).lower() if isinstance(fields[key][0], bool) else str(fields[key][0]) for key in keys
            )
            return r.choice(
                [
                    f"Give me JSON with {wanted} for {name}, {values}.",
                    f"Write {name}, {values} as JSON with {wanted}.",
                    f"JSON with {wanted}: {name}, {values}",
                ]
            ), result
        return r.choice(
            [
                f"Return a JSON object with the keys {wanted}. {described}",
                f"Answer with a JSON object with keys {wanted}: {described}",
                f"Give me JSON with {wanted}: {described}",
                f"{described} Give me JSON with {wanted}.",
                f"Turn this into JSON with {wanted}: {described}",
                f"{described} Write this as JSON with the keys {wanted}.",
                f"Convert to JSON with the keys {wanted}. {described}",
            ]
        ), result
    return r.choice(
        [
            f"Give me JSON with {wanted} for {name}.",
            f"Make up a person called {name} as JSON with {wanted}.",
            f"Create JSON for {name} with {wanted}.",
            f"Write JSON with the keys {wanted} for a person called {name}.",
        ]
    ), result


def listing(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    what, words = r.choice(
        [
            ("colors", COLORS),
            ("animals", PETS),
            ("fruits", FRUITS),
            ("days", DAYS),
            ("foods", FOODS),
            ("pets", PETS),
            ("jobs", JOBS),
            ("countries", list(CAPITALS)),
        ]
    )
    count = r.randint(2, 5)
    items = r.sample(words, count)
    number = r.choice((NUMBER_WORDS[count], str(count)))
    if r.random() < 0.5:
        return r.choice(
            [
                f"Give me a JSON array with {number} {what}.",
                f"List {number} {what} as a JSON array.",
                f"Name {number} {what} in a JSON list.",
            ]
        ), items
    return r.choice(
        [
            f"Give me JSON with {number} {what}.",
            f"List {number} {what} as JSON.",
            f"Name {number} {what}. Answer in JSON.",
        ]
    ), {what: items}


def thing(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    color, noun, size = (
        r.choice(COLORS),
        r.choice(list(THINGS)),
        r.choice(["small", "big", "tiny", "huge", "long", "short"]),
    )
    if r.random() < 0.5:
        return r.choice(
            [f"Describe {article(color + ' ' + noun)} as JSON.", f"Describe {article(color + ' ' + noun)} in JSON."]
        ), {"object": noun, "color": color}
    return r.choice(
        [
            f"Describe {article(size + ' ' + color + ' ' + noun)} as JSON.",
            f"Write {article(size + ' ' + color + ' ' + noun)} as JSON with object, size and color.",
        ]
    ), {"object": noun, "size": size, "color": color}


def order(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    name, items = lexicon.name(r), r.sample(FRUITS, r.randint(1, 3))
    counts = [r.randint(1, 20) for _ in items]
    parts = [
        f"{count} {item if count == 1 else (item[:-1] + 'ies' if item[-1] == 'y' else item + 'es' if item.endswith('ch') else item + 's')}"
        for count, item in zip(counts, items)
    ]
    result = {"customer": name, "items": [{"name": item, "count": count} for item, count in zip(items, counts)]}
    return r.choice(
        [
            f"{name} buys {join_words(parts)}. Write the order as JSON.",
            f"Write this order as JSON: {name} buys {join_words(parts)}.",
        ]
    ), result


def sum_object(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    a, op, b = exercise(r, lexicon.held_out, 0.5, negative=False)
    key = "sum" if op == "+" else "difference"
    ask = (
        r.choice([f"Add {a} and {b} and answer in JSON.", f"What is {a} + {b}? Answer in JSON."])
        if op == "+"
        else f"What is {a} - {b}? Answer in JSON."
    )
    return ask, {"a": a, "b": b, key: value(a, op, b)}


def story_card(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    name, kind, noun, color = (
        lexicon.name(r),
        lexicon.animal(r) if lexicon.held_out or r.random() < 0.5 else lexicon.word(r),
        r.choice(list(THINGS)),
        r.choice(COLORS),
    )
    return r.choice(
        [
            f"Give me JSON with a hero for a story about {article(kind)} called {name} and {article(color + ' ' + noun)}.",
            f"Write the hero of a story as JSON: {article(kind)} called {name} with {article(color + ' ' + noun)}.",
        ]
    ), {"hero": {"name": name, "kind": kind}, "thing": {"name": noun, "color": color}}


def pairs(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    """Arbitrary keys and values, stated one after the other."""
    keys = [
        made_up_word(r)
        if r.random() < 0.2
        else r.choice([*COMMON, "title", "size", "price", "count", "id", "open", "author", "weight", "note"])
        for _ in range(r.randint(1, 4))
    ]
    keys = [key for key in dict.fromkeys(keys) if key.isascii()] or ["title"]
    result: dict[str, object] = {}
    for key in keys:
        form = r.random()
        result[key] = (
            r.randint(0, 999)
            if form < 0.35
            else lexicon.name(r)
            if form < 0.6
            else lexicon.word(r)
            if form < 0.85
            else r.random() < 0.5
        )
    shown = {key: str(item).lower() if isinstance(item, bool) else item for key, item in result.items()}
    link = r.choice([": ", " = ", " is ", " "])
    listed = ", ".join(f"{key}{link}{item}" for key, item in shown.items())
    return r.choice(
        [
            f"Write as JSON: {listed}",
            f"Make JSON with {listed}.",
            f"Give me JSON where {listed}.",
            f"Turn this into JSON: {listed}",
            f"{listed}. As JSON, please.",
        ]
    ), result


def array(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    """A given list as an array."""
    items: list[object] = [lexicon.word(r) if r.random() < 0.7 else r.randint(0, 99) for _ in range(r.randint(1, 6))]
    listed = ", ".join(map(str, items)) if r.random() < 0.5 else join_words([str(item) for item in items])
    return r.choice(
        [f"Put {listed} in a JSON array.", f"Write {listed} as a JSON array.", f"Make a JSON list of {listed}."]
    ), items


def place(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    country, city = r.choice(list(CAPITALS.items()))
    quote = '"' if r.random() < 0.4 else ""
    if r.random() < 0.5:
        return r.choice(
            [
                f"Give me JSON with city and country for {city}.",
                f"Return a JSON object with the keys {quote}city{quote} and {quote}country{quote} for {city}.",
            ]
        ), {"city": city, "country": country}
    return r.choice(
        [
            f"Give me JSON with country and capital for {country}.",
            f"Return a JSON object with {quote}country{quote} and {quote}capital{quote} for {country}.",
        ]
    ), {"country": country, "capital": city}


def answered(r: Random, lexicon: Lexicon) -> tuple[str, object]:
    """A plain question, with a system turn that asks for JSON."""
    if r.random() < 0.5:
        country, city = r.choice(list(CAPITALS.items()))
        return f"What is the capital of {country}?", {"answer": city}
    a, op, b = exercise(r, lexicon.held_out, 0.5, negative=False)
    return f"What is {a} {op} {b}?", {"answer": value(a, op, b)}


def json_answer(r: Random, lexicon: Lexicon) -> Conversation:
    if r.random() < 0.12:
        ask, result = answered(r, lexicon)
        return Conversation([Turn(ask, json.dumps(result), weight=2.0)], system=r.choice(SYSTEMS))
    kind = r.choices(
        [person, listing, thing, order, sum_object, story_card, pairs, array, place], [8, 3, 2, 2, 2, 2.5, 4, 2, 1]
    )[0]
    turns = []
    for _ in range(r.choice((1, 1, 1, 2))):
        ask, result = kind(r, lexicon)
        turns.append(Turn(ask, json.dumps(result), weight=2.0))
    return Conversation(turns, system=r.choice(SYSTEMS) if r.random() < 0.25 else "")
