"""Renders conversations with chat templates as transformers does: python3 render-jinja2.py conversations.json template.jinja..."""

import json
import sys

from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment


def raise_exception(message: str) -> None:
    raise TemplateError(message)


def with_folded_results(messages: list[dict]) -> list[dict]:
    """Moves tool results into the message that made the calls, where official templates expect results that are objects."""
    folded: list[dict] = []
    target: dict | None = None
    for message in messages:
        if message["role"] != "tool":
            folded.append(message)
            target = None
            continue
        if target is None:
            target = folded[-1] = dict(folded[-1], tool_responses=[])
        names = {call["id"]: call["function"]["name"] for call in target["tool_calls"]}
        target["tool_responses"].append({"name": names[message["tool_call_id"]], "response": message["content"]})
    return folded


PROBE = [
    {"role": "user", "content": "x"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {}}}]},
    {"role": "tool", "tool_call_id": "a", "content": {"field": 1}},
]


def render(template, conversation: dict) -> str:
    options = {key: conversation[key] for key in ("tools", "enable_thinking", "preserve_thinking")}
    messages = conversation["messages"]
    has_objects = any(message["role"] == "tool" and isinstance(message["content"], dict) for message in messages)
    if has_objects and not takes_objects(template):
        messages = with_folded_results(messages)
    return template.render(messages=messages, bos_token="<bos>", eos_token="<eos>", add_generation_prompt=True, **options)


def takes_objects(template) -> bool:
    try:
        return "field" in template.render(messages=PROBE, bos_token="<bos>")
    except Exception:
        return False


environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
environment.globals["raise_exception"] = raise_exception
with open(sys.argv[1]) as file:
    conversations = json.load(file)
renders = {}
for path in sys.argv[2:]:
    with open(path) as file:
        template = environment.from_string(file.read())
    renders[path] = [render(template, conversation) for conversation in conversations]
json.dump(renders, sys.stdout)
