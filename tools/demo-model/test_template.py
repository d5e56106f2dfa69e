"""Checks `chat_template.jinja` against the syntax of Gemma 4 and against `dialogue.py`: python3 test_template.py

It is rendered with Python's jinja2 and, where the packages are built, by the engine itself (@huggingface/jinja).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

from jinja2 import Environment

import corpus
import dialogue
from words import Lexicon

HERE = Path(__file__).parent
TEMPLATE = HERE / "chat_template.jinja"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather by city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
CALL = {
    "role": "assistant",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": {"days": 2, "city": "Paris"}}}
    ],
}
HI = [{"role": "user", "content": "Hi"}]
ASK = [{"role": "user", "content": "Weather in Paris?"}]
DECLARED = (
    '<bos><|turn>system\n<|tool>declaration:get_weather{description:<|"|>Weather by city<|"|>,parameters:{properties:{city:{description:<|"|>City<|"|>,type:<|"|>STRING<|"|>},'
    'days:{type:<|"|>INTEGER<|"|>}},required:[<|"|>city<|"|>],type:<|"|>OBJECT<|"|>}}<tool|><turn|>\n<|turn>user\nWeather in Paris?<turn|>\n<|turn>model\n'
)
CALLED = DECLARED + '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:2}<tool_call|>'
RESPONSE = '<|tool_response>response:get_weather{temp:15,weather:<|"|>sunny<|"|>}<tool_response|>'
TOOL = {"role": "tool", "tool_call_id": "c1", "content": {"weather": "sunny", "temp": 15}}

CASES: list[tuple[dict, str]] = [
    ({"messages": HI}, "<bos><|turn>user\nHi<turn|>\n<|turn>model\n"),
    (
        {"messages": HI, "enable_thinking": True},
        "<bos><|turn>system\n<|think|>\n<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\n",
    ),
    (
        {
            "messages": [
                {"role": "system", "content": " Be brief. "},
                *HI,
                {"role": "assistant", "content": "<|channel>thought\nhm\n<channel|>Hello!"},
                {"role": "user", "content": "Bye"},
            ]
        },
        "<bos><|turn>system\nBe brief.<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\nHello!<turn|>\n<|turn>user\nBye<turn|>\n<|turn>model\n",
    ),
    ({"messages": ASK, "tools": [WEATHER]}, DECLARED),
    ({"messages": [*ASK, CALL], "tools": [WEATHER]}, CALLED + "<|tool_response>"),
    ({"messages": [*ASK, CALL, TOOL], "tools": [WEATHER]}, CALLED + RESPONSE),
    (
        {
            "messages": [
                *ASK,
                CALL,
                TOOL,
                {"role": "assistant", "content": "Sunny."},
                {"role": "user", "content": "Thanks"},
            ],
            "tools": [WEATHER],
        },
        CALLED + RESPONSE + "Sunny.<turn|>\n<|turn>user\nThanks<turn|>\n<|turn>model\n",
    ),
    (
        {"messages": [*ASK, {**CALL, "reasoning": "I ask."}, TOOL], "tools": [WEATHER], "enable_thinking": True},
        CALLED.replace("system\n", "system\n<|think|>\n").replace(
            "<|turn>model\n", "<|turn>model\n<|channel>thought\nI ask.\n<channel|>"
        )
        + RESPONSE
        + "<|channel>thought\n",
    ),
    (
        {"messages": [*ASK, CALL, {"role": "tool", "name": "x", "content": "15 degrees"}], "tools": [WEATHER]},
        CALLED + '<|tool_response>response:x{value:<|"|>15 degrees<|"|>}<tool_response|>',
    ),
    (
        {
            "messages": [
                *ASK,
                CALL,
                {"role": "tool", "name": "x", "content": [{"type": "text", "text": "a map"}, {"type": "image"}]},
            ],
            "tools": [WEATHER],
        },
        CALLED + '<|tool_response>response:x{value:<|"|>a map<|"|>}<tool_response|><|image|>',
    ),
    (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image"},
                        {"type": "text", "text": " What is this? "},
                        {"type": "input_audio"},
                        {"type": "video"},
                    ],
                }
            ]
        },
        "<bos><|turn>user\n<|image|>What is this?<|audio|><|video|><turn|>\n<|turn>model\n",
    ),
    (
        {
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "A."}, {"type": "text", "text": "B."}]},
                *HI,
            ]
        },
        "<bos><|turn>system\nA. B. <turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\n",
    ),
    (
        {
            "messages": HI,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "f",
                        "description": "F",
                        "parameters": {
                            "type": "object",
                            "properties": {
                                "list": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {"b": {"type": "number", "nullable": True}},
                                        "default": {"k": True, "n": None},
                                    },
                                },
                                "kind": {"type": "string", "enum": ["a", "b"]},
                                "deep": {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]},
                            },
                        },
                    },
                }
            ],
        },
        '<bos><|turn>system\n<|tool>declaration:f{description:<|"|>F<|"|>,parameters:{properties:{deep:{properties:{x:{type:<|"|>BOOLEAN<|"|>}},required:[<|"|>x<|"|>],type:<|"|>OBJECT<|"|>},'
        'kind:{enum:[<|"|>a<|"|>,<|"|>b<|"|>],type:<|"|>STRING<|"|>},list:{items:{default:{<|"|>k<|"|>:true,<|"|>n<|"|>:null},properties:{b:{nullable:true,type:<|"|>NUMBER<|"|>}},type:<|"|>OBJECT<|"|>},'
        'type:<|"|>ARRAY<|"|>}},type:<|"|>OBJECT<|"|>}}<tool|><turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\n',
    ),
]


def generated_cases() -> list[tuple[dict, str]]:
    """Conversations of the corpus: the template must give the same text as `dialogue.segments`."""
    r, out = Random(11), []
    for index in range(300):
        made = corpus.conversation(r, Lexicon(index % 2 == 1), corpus.KINDS[index % len(corpus.KINDS)])
        text = "".join(piece for piece, _ in dialogue.segments(made))
        messages = dialogue.messages(made)
        case = {
            "messages": messages,
            "tools": made.tools or None,
            "enable_thinking": made.thinking,
            "add_generation_prompt": False,
        }
        out.append((case, text + "\n" if messages[-1]["role"] == "assistant" else text))
    return out


def main() -> None:
    cases = [({"add_generation_prompt": True, **case}, expected) for case, expected in CASES] + generated_cases()
    template = Environment().from_string(TEMPLATE.read_text())
    renders = {"jinja2": [template.render(**case) for case, _ in cases]}
    if (HERE.parents[1] / "packages/text/dist/index.js").exists():
        result = subprocess.run(
            ["node", str(HERE / "render-template.mjs"), str(TEMPLATE)],
            input=json.dumps([case for case, _ in cases]),
            capture_output=True,
            text=True,
            check=True,
        )
        renders["the engine"] = json.loads(result.stdout)
    failures = 0
    for engine, texts in renders.items():
        for (case, expected), text in zip(cases, texts):
            if text != expected:
                failures += 1
                if failures < 4:
                    print(f"{engine}: {json.dumps(case)[:600]}\n  expected {expected!r}\n  received {text!r}")
    print(f"{len(cases)} cases, {', '.join(renders)}: {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
