"""Conversations and their rendering in the prompt syntax of Gemma 4.

A conversation is rendered twice in this project: here, as segments that carry a loss weight, and by
`chat_template.jinja` for everybody else. `test_template.py` checks that both give the same text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

QUOTE = '<|"|>'


@dataclass
class ToolUse:
    """One tool call inside a model turn, and the tool's response."""

    name: str
    arguments: dict[str, Any]
    response: dict[str, Any] | str | None = None


@dataclass
class Turn:
    """A question and the answer to learn.

    `thought` comes before the answer or the calls, `late_thought` after the tools' responses; `weight` scales the loss
    of the tokens that the model writes.
    """

    user: str
    answer: str = ""
    thought: str | None = None
    late_thought: str | None = None
    uses: list[ToolUse] = field(default_factory=list)
    weight: float = 1.0


@dataclass
class Conversation:
    turns: list[Turn]
    system: str = ""
    tools: list[dict[str, Any]] = field(default_factory=list)
    thinking: bool = False


def format_value(value: Any, quote_keys: bool = False) -> str:
    """A value in the tool syntax: strings between quote tokens, objects sorted by key."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, str):
        return QUOTE + value + QUOTE
    if isinstance(value, dict):
        items = sorted(value.items(), key=lambda item: item[0].lower())
        return (
            "{"
            + ",".join(
                (QUOTE + key + QUOTE if quote_keys else key) + ":" + format_value(item, quote_keys)
                for key, item in items
            )
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(format_value(item, quote_keys) for item in value) + "]"
    return str(value)


def format_declaration(tool: dict[str, Any]) -> str:
    """A tool with a flat parameter object, as declared in the system turn."""
    function = tool["function"]
    parameters = function["parameters"]
    properties = []
    for key, schema in sorted(parameters["properties"].items(), key=lambda item: item[0].lower()):
        fields = []
        if "description" in schema:
            fields.append("description:" + format_value(schema["description"]))
        if "enum" in schema:
            fields.append("enum:" + format_value(schema["enum"]))
        fields.append("type:" + format_value(schema["type"].upper()))
        properties.append(key + ":{" + ",".join(fields) + "}")
    body = "properties:{" + ",".join(properties) + "},"
    if parameters.get("required"):
        body += "required:" + format_value(parameters["required"]) + ","
    body += "type:" + format_value(parameters["type"].upper())
    description = format_value(function["description"])
    return f"declaration:{function['name']}{{description:{description},parameters:{{{body}}}}}"


def as_object(response: dict[str, Any] | str) -> dict[str, Any]:
    """A tool's response as an object: text becomes its `value`."""
    return {"value": response} if isinstance(response, str) else response


def segments(conversation: Conversation) -> list[tuple[str, float]]:
    """The rendered conversation as (text, loss weight) pieces; pieces are only split at special tokens or line ends."""
    out: list[tuple[str, float]] = []
    head = "<bos>"
    if conversation.system or conversation.tools or conversation.thinking:
        head += "<|turn>system\n" + ("<|think|>\n" if conversation.thinking else "") + conversation.system
        head += "".join(f"<|tool>{format_declaration(tool)}<tool|>" for tool in conversation.tools) + "<turn|>\n"
    for turn in conversation.turns:
        out.append((head + f"<|turn>user\n{turn.user}<turn|>\n<|turn>model\n", 0.0))
        text = "" if turn.thought is None else f"<|channel>thought\n{turn.thought}\n<channel|>"
        for use in turn.uses:
            text += f"<|tool_call>call:{use.name}{format_value(use.arguments)}<tool_call|>"
        if turn.uses:
            out.append((text + "<|tool_response>", turn.weight))
            text = ""
            answered = [use for use in turn.uses if use.response is not None]
            if not answered:
                return out
            reply = "<|tool_response>".join(
                f"response:{u.name}{format_value(as_object(u.response))}<tool_response|>" for u in answered
            )
            if turn.late_thought is not None:
                # The template itself opens this thought.
                reply += "<|channel>thought\n"
                text = f"{turn.late_thought}\n<channel|>"
            out.append((reply, 0.0))
        out.append((text + turn.answer + "<turn|>", turn.weight))
        head = "\n"
    return out


def messages(conversation: Conversation) -> list[dict[str, Any]]:
    """The same conversation as chat messages, the input of `chat_template.jinja`."""
    out: list[dict[str, Any]] = []
    if conversation.system:
        out.append({"role": "system", "content": conversation.system})
    for turn in conversation.turns:
        out.append({"role": "user", "content": turn.user})
        if turn.uses:
            called: dict[str, Any] = {
                "role": "assistant",
                "tool_calls": [
                    {"type": "function", "function": {"name": u.name, "arguments": u.arguments}} for u in turn.uses
                ],
            }
            if turn.thought is not None:
                called["reasoning"] = turn.thought
            out.append(called)
            out += [
                {"role": "tool", "name": u.name, "content": u.response} for u in turn.uses if u.response is not None
            ]
            if turn.uses[0].response is None:
                return out
        if turn.answer:
            message: dict[str, Any] = {"role": "assistant", "content": turn.answer}
            thought = turn.late_thought if turn.uses else turn.thought
            if thought is not None:
                message["reasoning"] = thought
            out.append(message)
    return out


def prompt(conversation: Conversation) -> str:
    """The prompt up to the start of the last turn's answer."""
    pieces = segments(conversation)
    last = len(pieces) - 1
    while last > 0 and pieces[last][1] > 0:
        last -= 1
    return "".join(text for text, _ in pieces[: last + 1])
