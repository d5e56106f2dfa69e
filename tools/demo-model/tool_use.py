"""Conversations with the two demo tools, `get_weather` and `calculate`.

Descriptions and parameter names vary, so that the model reads the declaration instead of reciting one; the forms in
`GET_WEATHER` and `CALCULATE` are the most frequent ones.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from arithmetic import arithmetic_turn
from dialogue import Conversation, ToolUse, Turn
from stories import story_turns
from talk import fact, greeting
from words import COMMON, VERBS, Lexicon

GET_WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Name of the city."}},
            "required": ["city"],
        },
    },
}
CALCULATE: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "calculate",
        "description": "Calculate an arithmetic expression.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string", "description": "The expression, for example 2 * 21."}},
            "required": ["expression"],
        },
    },
}
WEATHER = "sunny cloudy rainy windy snowy foggy stormy clear".split()


def declare(r: Random, tool: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """A declaration of the tool, and the name of its main parameter."""
    function = tool["function"]
    key, schema = next(iter(function["parameters"]["properties"].items()))
    if r.random() < 0.5:
        return tool, key
    weather = function["name"] == "get_weather"
    description = r.choice(
        [
            "Weather by city",
            "Get the current weather for a city.",
            "Returns the weather.",
            "The weather of a place today",
            "Look up the weather in a city",
        ]
        if weather
        else [
            "Evaluate an arithmetic expression.",
            "A calculator",
            "Computes the value of an expression",
            "Evaluates a mathematical expression such as 12 * 7",
            "Calculator for numbers",
        ]
    )
    if r.random() < 0.3:
        key = r.choice(["location", "place", "town"] if weather else ["expr", "formula", "input"])
    schema = {"type": "string"}
    if r.random() < 0.7:
        schema["description"] = r.choice(
            ["City", "The city", "City name", "The place"]
            if weather
            else ["Expression", "The expression to evaluate", "What to calculate"]
        )
    properties: dict[str, Any] = {key: schema}
    if weather and r.random() < 0.4:
        properties["days"] = {"type": "integer", **({"description": "Number of days"} if r.random() < 0.5 else {})}
    if weather and r.random() < 0.2:
        properties["unit"] = {"type": "string", "enum": ["celsius", "fahrenheit"]}
    return {
        "type": "function",
        "function": {
            "name": function["name"],
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": [key]},
        },
    }, key


def weather_turn(r: Random, lexicon: Lexicon, key: str, properties: dict[str, Any]) -> Turn:
    city = lexicon.city(r)
    arguments: dict[str, Any] = {key: city}
    ask = r.choice(
        [
            f"What is the weather in {city}?",
            f"What is the weather like in {city}?",
            f"How is the weather in {city} today?",
            f"Weather in {city}?",
            f"Is it raining in {city}?",
            f"Tell me the weather in {city}.",
            f"Do I need an umbrella in {city}?",
            f"What's the weather in {city}?",
            f"Can you check the weather in {city}?",
            f"How warm is it in {city}?",
            f"Is it cold in {city}?",
            f"Should I take a coat in {city}?",
            f"I am in {city}. How is the weather?",
            f"Please get the weather for {city}.",
            f"Use get_weather for {city}.",
            f"weather {city}",
            f"Tell me about the weather in {city}.",
            f"Is it sunny in {city}?",
            f"I travel to {city}. What is the weather there?",
        ]
    )
    if "days" in properties and r.random() < 0.5:
        arguments["days"] = r.randint(2, 9)
        ask = r.choice(
            [
                f"What is the weather in {city} for the next {arguments['days']} days?",
                f"Weather in {city} for {arguments['days']} days?",
            ]
        )
    if "unit" in properties and r.random() < 0.5:
        arguments["unit"] = r.choice(["celsius", "fahrenheit"])
        ask += f" Use {arguments['unit']}."
    state, degrees = r.choice(WEATHER), r.randint(-15, 39)
    shape = r.random()
    if shape < 0.5:
        response: dict[str, Any] | str = {"city": city, "condition": state, "temperature": degrees}
    elif shape < 0.7:
        response = {"weather": state, "temp": degrees}
    elif shape < 0.85:
        response = {"condition": state, "temperature": degrees}
    else:
        response = {"city": city, "temperature": degrees, "unit": "celsius", "condition": state}
    if r.random() < 0.25:
        response = r.choice(
            [
                json.dumps(response),
                f"{state}, {degrees} degrees",
                f"{degrees} degrees and {state}",
                f"{degrees} C, {state}",
            ]
        )
    return Turn(
        ask,
        f"It is {state} in {city}, and the temperature is {degrees} degrees.",
        uses=[ToolUse("get_weather", arguments, response)],
        weight=2.0,
    )


def calculate_turn(r: Random, key: str) -> Turn:
    op = r.choice("+-*/*+")
    a, b = (r.randint(0, r.choice((20, 99, 999, 9999))) for _ in range(2))
    if op == "/":
        b = r.randint(2, 20)
        a = b * r.randint(1, 500)
    result = {"+": a + b, "-": a - b, "*": a * b, "/": a // max(b, 1)}[op]
    word = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}[op]
    expression = f"{a} {op} {b}"
    spoken = expression if r.random() < 0.6 else f"{a} {word} {b}"
    ask = r.choice(
        [
            f"What is {spoken}?",
            f"What is {spoken}?",
            f"Calculate {spoken}.",
            f"How much is {spoken}?",
            f"Compute {spoken}.",
            f"{spoken} =",
            f"Use the calculator for {spoken}.",
            f"Can you calculate {spoken}?",
            f"Please compute {spoken}.",
            f"What's {spoken}?",
            f"Use calculate for {spoken}.",
            f"I need {spoken}.",
            f"Solve {spoken}.",
        ]
    )
    if op in "+*" and r.random() < 0.12:
        ask = f"Add {a} and {b}." if op == "+" else r.choice([f"Multiply {a} by {b}.", f"Multiply {a} and {b}."])
    if r.random() < 0.12:
        c = r.randint(2, 50)
        expression, result = (
            (f"({a} + {b}) * {c}", (a + b) * c) if r.random() < 0.5 else (f"{a} + {b} - {c}", a + b - c)
        )
        ask = r.choice([f"What is {expression}?", f"Calculate {expression}.", f"Compute {expression}."])
    response: dict[str, Any] | str = {"result": result} if r.random() < 0.7 else {r.choice(("value", "answer")): result}
    if r.random() < 0.25:
        response = r.choice([json.dumps(response), str(result)])
    return Turn(ask, f"{expression} = {result}", uses=[ToolUse("calculate", {key: expression}, response)], weight=2.0)


def any_tool(r: Random, lexicon: Lexicon) -> Conversation:
    """A tool that the model has never seen, called as the user requests."""
    keys = [
        key
        for key in dict.fromkeys(
            r.choice([*COMMON, "query", "text", "id", "date", "name"]) for _ in range(r.randint(1, 3))
        )
    ]
    name = f"{r.choice([*VERBS, 'get', 'find', 'send', 'set', 'make', 'open'])}_{r.choice(COMMON)}"
    kinds = {key: r.choice(["string", "string", "integer", "boolean"]) for key in keys}
    values: dict[str, Any] = {
        key: r.randint(0, 99)
        if kind == "integer"
        else r.random() < 0.5
        if kind == "boolean"
        else lexicon.word(r)
        if r.random() < 0.6
        else lexicon.name(r)
        for key, kind in kinds.items()
    }
    tool = {
        "type": "function",
        "function": {
            "name": name,
            "description": r.choice(
                [f"{name.replace('_', ' ').capitalize()}.", f"Works with the {name.split('_')[1]}.", "A tool"]
            ),
            "parameters": {
                "type": "object",
                "properties": {key: {"type": kind} for key, kind in kinds.items()},
                "required": keys,
            },
        },
    }
    listed = ", ".join(f"{key} {str(item).lower() if isinstance(item, bool) else item}" for key, item in values.items())
    asked = r.choice(
        [f"Call {name} with {listed}.", f"Use {name} with {listed}.", f"Please call {name} with {listed}."]
    )
    outcome = r.choice([{"result": lexicon.word(r)}, {"result": r.randint(0, 99)}, {"status": "ok"}, {"done": True}])
    result = next(iter(outcome.values()))
    answer = "It is done." if result == "ok" or result is True else f"The result is {result}."
    others = [declare(r, GET_WEATHER)[0]] if r.random() < 0.3 else []
    return Conversation([Turn(asked, answer, uses=[ToolUse(name, values, outcome)], weight=2.0)], tools=[*others, tool])


def tool_use(r: Random, lexicon: Lexicon) -> Conversation:
    """One to three turns with one or both tools declared; one turn in eight needs no tool."""
    if r.random() < 0.12:
        return any_tool(r, lexicon)
    weather, city_key = declare(r, GET_WEATHER)
    calculator, expression_key = declare(r, CALCULATE)
    which = r.random()
    tools = (
        [weather]
        if which < 0.2
        else [calculator]
        if which < 0.4
        else [weather, calculator]
        if r.random() < 0.7
        else [calculator, weather]
    )
    turns: list[Turn] = []
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        pick = r.random()
        if pick < 0.06:
            turns += greeting(r, lexicon)[:1]
        elif pick < 0.1:
            turns += fact(r, lexicon)[:1]
        elif pick < 0.12 and len(turns) == 0:
            return Conversation(story_turns(r, lexicon, 0.0), tools=tools)
        elif weather in tools and (calculator not in tools or r.random() < 0.5):
            turns.append(weather_turn(r, lexicon, city_key, weather["function"]["parameters"]["properties"]))
        elif calculator in tools:
            turns.append(calculate_turn(r, expression_key))
    if not turns:
        turns = [arithmetic_turn(r, lexicon)] if calculator not in tools else [calculate_turn(r, expression_key)]
    if len(turns) == 1 and turns[0].uses and r.random() < 0.12:
        use = turns[0].uses[0]
        turns[0].thought = f"I need the tool {use.name} for this."
        turns[0].late_thought = "The tool gave me the answer."
        return Conversation(turns, tools=tools, thinking=True)
    return Conversation(
        turns,
        system=r.choice(["You are a helpful assistant.", "Be brief.", "Use the tools when they help."])
        if r.random() < 0.2
        else "",
        tools=tools,
    )
