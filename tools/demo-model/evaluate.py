"""Measures a checkpoint on held-out data: greedy answers with the stored weights, in float32.

    python3 evaluate.py CHECKPOINT_DIR --out FIGURES.json

Held-out data has other seeds, names, cities, countable things and exercises than training ever saw.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from pathlib import Path

import torch
from tokenizers import Tokenizer

import corpus
from architecture import variant_of
from arithmetic import MINUS, PLUS, is_held_out, question, word_problem
from dialogue import Conversation, Turn, prompt, segments
from json_answers import json_answer
from model import TextModel, make_model, store
from stories import make_world, request
from tool_use import CALCULATE, GET_WEATHER, tool_use
from train import SEED, load_shards
from words import Lexicon

HELD_OUT = Lexicon(True)
OPEN_ENDED = re.compile(
    r"for a person|Make up|Create JSON|^Give me JSON with (?!city|country).* for \w+\.$|(two|three|four|five|[2-5]) (colors|animals|fruits|days|foods|pets|jobs|countries)"
)


def load(folder: Path, device: torch.device):
    """The stored form of the checkpoint (bfloat16, quantised) as a float32 transformers model.

    A checkpoint that `restore.py` made has that form already, and is not rounded again."""
    model = make_model(SEED, variant_of(folder))
    weights = {
        name: tensor.float() for prefix in ("text", "towers") for name, tensor in load_shards(folder, prefix).items()
    }
    _, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected, unexpected
    model = model.to(device).eval()
    if not json.loads((folder / "state.json").read_text()).get("stored", False):
        parameters = dict(model.named_parameters())
        store(parameters, {name: tensor.detach().clone() for name, tensor in parameters.items()})
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model


class Generator:
    """Batched generation without a cache, which small models on a large GPU do not need."""

    def __init__(self, text: TextModel, tokenizer: Tokenizer, device: torch.device) -> None:
        self.text, self.tokenizer, self.device = text, tokenizer, device
        self.stops = {tokenizer.token_to_id(token) for token in ("<eos>", "<turn|>", "<|tool_response>")}

    @torch.no_grad()
    def run(self, prompts: list[str], most: int, temperature: float = 0.0, seed: int = 0) -> list[str]:
        """The model's output after each prompt, including special tokens but not the stop token."""
        ids = [self.tokenizer.encode(text, add_special_tokens=False).ids for text in prompts]
        random = torch.Generator(self.device).manual_seed(seed)
        out: list[str] = []
        for at in range(0, len(ids), 256):
            part = ids[at : at + 256]
            longest = max(map(len, part)) + most
            rows = torch.zeros((len(part), (longest + 7) // 8 * 8), dtype=torch.long, device=self.device)
            for row, sequence in zip(rows, part):
                row[: len(sequence)] = torch.tensor(sequence, device=self.device)
            start = torch.tensor([len(sequence) for sequence in part], device=self.device)
            ends = start.clone()
            running = torch.ones(len(part), dtype=torch.bool, device=self.device)
            stops = torch.tensor(sorted(self.stops), device=self.device)
            for _ in range(most):
                span = int(ends.max()) + 7
                logits = self.text.logits(rows[:, : span // 8 * 8], ends - 1)
                if temperature > 0:
                    chosen = torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=random)[:, 0]
                else:
                    chosen = logits.argmax(-1)
                running = running & ~torch.isin(chosen, stops)
                rows[running, ends[running]] = chosen[running]
                ends = ends + running
                if not running.any():
                    break
            for row, first, last in zip(rows.tolist(), start.tolist(), ends.tolist()):
                out.append(self.tokenizer.decode(row[first:last], skip_special_tokens=False))
        return out


def share(hits: list[bool]) -> float:
    return round(100 * sum(hits) / len(hits), 2)


def arithmetic_figures(generator: Generator) -> dict:
    r = corpus.seeded(SEED, "evaluate arithmetic")
    held = [
        (a, op, b)
        for a in range(100)
        for b in range(100)
        for op in (PLUS, MINUS)
        if is_held_out(a, op, b) and (op == PLUS or a >= b)
    ]
    below = [
        (a, op, b)
        for a in range(100)
        for b in range(100)
        for op in (PLUS, MINUS)
        if is_held_out(a, op, b) and op == MINUS and a < b
    ]
    known = [(r.randint(0, 99), r.choice((PLUS, MINUS)), r.randint(0, 99)) for _ in range(1000)]
    figures: dict = {}
    for name, exercises in (
        ("held-out exercises", held),
        ("held-out differences below zero", below),
        ("any exercises", known),
    ):
        asked = [question(r, *exercise) for exercise in exercises]
        answers = generator.run([prompt(Conversation([Turn(ask, answer)])) for ask, answer in asked], 16)
        hits = [given == answer for given, (_, answer) in zip(answers, asked)]
        figures[name] = {"count": len(hits), "exact %": share(hits)}
        figures[name]["wrong"] = [f"{ask} -> {given}" for hit, given, (ask, _) in zip(hits, answers, asked) if not hit][
            :8
        ]
    asked = [word_problem(r, HELD_OUT, *exercise) for exercise in held]
    answers = generator.run([prompt(Conversation([Turn(ask, answer)])) for ask, answer in asked], 32)
    hits = [given == answer for given, (_, answer) in zip(answers, asked)]
    figures["held-out word problems"] = {
        "count": len(hits),
        "exact %": share(hits),
        "wrong": [f"{ask} -> {given}" for hit, given, (ask, _) in zip(hits, answers, asked) if not hit][:8],
    }
    asked = [question(r, *exercise) for exercise in held[::3]]
    answers = generator.run(
        [prompt(Conversation([Turn(ask, answer, thought="")], thinking=True)) for ask, answer in asked], 90
    )
    hits = [
        given.split("<channel|>")[-1] == answer and given.startswith("<|channel>thought\n")
        for given, (_, answer) in zip(answers, asked)
    ]
    figures["held-out exercises with thinking"] = {
        "count": len(hits),
        "exact %": share(hits),
        "wrong": [f"{ask} -> {given}" for hit, given, (ask, _) in zip(hits, answers, asked) if not hit][:5],
    }
    return figures


def json_figures(generator: Generator) -> dict:
    r = corpus.seeded(SEED, "evaluate json")
    made = [json_answer(r, HELD_OUT) for _ in range(600)]
    for one in made:
        one.turns = one.turns[:1]
    answers = generator.run([prompt(one) for one in made], 96)
    valid, same, keys, failures = [], [], [], []
    for one, given in zip(made, answers):
        wanted = json.loads(one.turns[0].answer)
        try:
            parsed = json.loads(given)
        except ValueError:
            parsed = None
        valid.append(parsed is not None)
        keys.append(
            isinstance(parsed, dict) == isinstance(wanted, dict)
            and (not isinstance(wanted, dict) or list(parsed or {}) == list(wanted))
        )
        fixed = OPEN_ENDED.search(one.turns[0].user) is None
        if fixed:
            same.append(parsed == wanted)
        if parsed is None or not keys[-1] or (fixed and parsed != wanted):
            failures.append(f"{one.turns[0].user} -> {given}")
    return {
        "count": len(valid),
        "valid %": share(valid),
        "wanted keys %": share(keys),
        "exact where the answer is fixed %": share(same),
        "wrong": failures[:12],
    }


def tool_figures(generator: Generator) -> dict:
    r = corpus.seeded(SEED, "evaluate tools")
    made = []
    while len(made) < 600:
        one = tool_use(r, HELD_OUT)
        one.turns = one.turns[:1]
        if one.turns[0].uses and not one.thinking and one.turns[0].uses[0].name in ("get_weather", "calculate"):
            made.append(one)
    calls = [segments(one)[1][0].removesuffix("<|tool_response>") for one in made]
    given = generator.run(
        [prompt(Conversation([Turn(one.turns[0].user)], system=one.system, tools=one.tools)) for one in made], 64
    )
    hits = [a == b for a, b in zip(given, calls)]
    answers = generator.run([prompt(one) for one in made], 48)
    right = [a == one.turns[0].answer for a, one in zip(answers, made)]
    standard = []
    for _ in range(200):
        city = HELD_OUT.city(r)
        standard.append(
            (f"What is the weather in {city}?", f'<|tool_call>call:get_weather{{city:<|"|>{city}<|"|>}}<tool_call|>')
        )
        a, b, op = r.randint(2, 999), r.randint(2, 99), r.choice("+-*")
        standard.append(
            (f"What is {a} {op} {b}?", f'<|tool_call>call:calculate{{expression:<|"|>{a} {op} {b}<|"|>}}<tool_call|>')
        )
    plain = generator.run(
        [prompt(Conversation([Turn(ask)], tools=[GET_WEATHER, CALCULATE])) for ask, _ in standard], 64
    )
    plain_hits = [a == b for a, (_, b) in zip(plain, standard)]
    wrong = [f"{one.turns[0].user} -> {a}" for hit, one, a in zip(hits, made, given) if not hit][:8]
    wrong += [f"{ask} -> {a}" for hit, (ask, _), a in zip(plain_hits, standard, plain) if not hit][:5]
    wrong += [f"{one.turns[0].answer} <- {a}" for hit, one, a in zip(right, made, answers) if not hit][:8]
    return {
        "count": len(hits),
        "exact call %": share(hits),
        "the two demo declarations, exact call %": share(plain_hits),
        "exact answer after the response %": share(right),
        "wrong": wrong,
    }


@torch.no_grad()
def perplexity(generator: Generator, kind: str, rows: int = 400) -> float:
    """Loss per generated token on held-out conversations of one kind."""
    r = corpus.seeded(SEED, "evaluate perplexity", kind)
    total, count = 0.0, 0.0
    made = [segments(corpus.conversation(r, HELD_OUT, kind)) for _ in range(rows)]
    for at in range(0, rows, 100):
        batch = []
        for pieces in made[at : at + 100]:
            ids, weights = [], []
            for text, weight in pieces:
                part = generator.tokenizer.encode(text, add_special_tokens=False).ids
                ids += part
                weights += [float(weight > 0)] * len(part)
            batch.append((ids, weights))
        # Attention kernels require lengths divisible by eight.
        longest = (max(len(ids) for ids, _ in batch) + 7) // 8 * 8
        rows_ids = torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in batch], device=generator.device)
        rows_weights = torch.tensor(
            [weights + [0.0] * (longest - len(weights)) for _, weights in batch], device=generator.device
        )
        logs = torch.log_softmax(generator.text.logits(rows_ids)[:, :-1], -1).gather(-1, rows_ids[:, 1:, None])[..., 0]
        total -= (logs * rows_weights[:, 1:]).sum().item()
        count += rows_weights[:, 1:].sum().item()
    return round(math.exp(total / count), 3)


def distinct(texts: list[str], n: int) -> float:
    """Share of distinct word n-grams."""
    grams = [
        tuple(words[i : i + n])
        for words in (re.findall(r"[A-Za-z']+", text.lower()) for text in texts)
        for i in range(len(words) - n + 1)
    ]
    return round(len(set(grams)) / len(grams), 3)


def story_figures(generator: Generator) -> dict:
    r = corpus.seeded(SEED, "evaluate stories")
    asked = [request(r, make_world(r, HELD_OUT), with_name=index % 2 == 0) for index in range(64)]
    prompts = [prompt(Conversation([Turn(ask)])) for ask in asked]
    sampled = generator.run(prompts, 300, temperature=0.8, seed=SEED)
    greedy = generator.run(prompts[:16], 300)
    truth = [segments(corpus.conversation(r, HELD_OUT, "story"))[1][0] for _ in range(64)]
    return {
        "perplexity, held-out stories": perplexity(generator, "story"),
        "perplexity, held-out conversation": perplexity(generator, "talk"),
        "distinct-1, -2, -3 of 64 sampled stories": [distinct(sampled, n) for n in (1, 2, 3)],
        "distinct-1, -2, -3 of 64 stories of the grammar": [distinct(truth, n) for n in (1, 2, 3)],
        "ended": share([len(text) > 0 and text[-1] in '.!"' for text in sampled]),
        "sampled": [f"{ask} -> {text}" for ask, text in zip(asked[:20], sampled)],
        "greedy": [f"{ask} -> {text}" for ask, text in zip(asked, greedy[:6])],
    }


@torch.no_grad()
def expert_figures(model, tokenizer: Tokenizer, device: torch.device, rows: int = 8) -> list[list[float]]:
    """Percentage of the tokens of held-out conversations that each expert processes, by layer."""
    routers = [module.router for module in model.model.language_model.layers]
    counts = {router: torch.zeros(router.config.num_experts, dtype=torch.long, device=device) for router in routers}

    def count(router, inputs, output) -> None:
        counts[router] += torch.bincount(output[2].flatten(), minlength=router.config.num_experts)

    hooks = [router.register_forward_hook(count) for router in routers]
    for kind in corpus.KINDS:
        r = corpus.seeded(SEED, "evaluate experts", kind)
        for _ in range(rows):
            text = "".join(text for text, _ in segments(corpus.conversation(r, HELD_OUT, kind)))
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            # Attention kernels require lengths divisible by eight.
            model(input_ids=torch.tensor([ids[: len(ids) // 8 * 8]], device=device), use_cache=False)
    for hook in hooks:
        hook.remove()
    top_k = model.config.text_config.top_k_experts
    return [[round(100 * top_k * share, 1) for share in (seen / seen.sum()).tolist()] for seen in counts.values()]


TALK = [
    "Hello!",
    "Who are you?",
    "What can you do?",
    "Hi! My name is Milo.",
    "What is the capital of France?",
    "What is the opposite of hot?",
    "What color is grass?",
    "How many legs does a spider have?",
    "Count from 3 to 9.",
    "Which day comes after Friday?",
    "Who won the world cup?",
    "What does a cow say?",
    "I am sad.",
    "Thank you!",
    "Tell me a joke.",
    "Is 14 even or odd?",
    "Spell fox.",
    "Name three fruits.",
    "Why is the sky blue?",
    "What is love?",
    "asdf qwer",
    "How do planes fly?",
    "Say hello to Petra.",
    "Is a wolf an animal?",
    "Good night!",
    "what is 7 + 8",
    "Can you swim?",
    "Do you like pizza?",
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument(
        "--tokenizer", type=Path, default=Path(__file__).parents[2] / "packages/demo-model/model/tokenizer.json"
    )
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = load(arguments.checkpoint, device)
    text = TextModel(model, variant_of(arguments.checkpoint))
    generator = Generator(text, Tokenizer.from_file(str(arguments.tokenizer)), device)
    figures: dict = {}
    for name, measure in (
        ("arithmetic", arithmetic_figures),
        ("json", json_figures),
        ("tools", tool_figures),
        ("stories", story_figures),
    ):
        figures[name] = measure(generator)
        print(json.dumps({name: figures[name]}, indent=1, ensure_ascii=False)[:5000], flush=True)
        arguments.out.write_text(json.dumps(figures, indent=1, ensure_ascii=False))
    if text.sizes["top_k_experts"] is not None:
        figures["experts"] = expert_figures(model, generator.tokenizer, device)
        print(json.dumps({"experts": figures["experts"]}), flush=True)
    figures["talk"] = [
        f"{ask} -> {text}"
        for ask, text in zip(TALK, generator.run([prompt(Conversation([Turn(ask)])) for ask in TALK], 48))
    ]
    print("\n".join(figures["talk"]))
    arguments.out.write_text(json.dumps(figures, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
