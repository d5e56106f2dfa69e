"""Writes expected.safetensors: results of transformers in float32 with the checkpoint's stored (dequantised) weights.

    python3 expected.py CHECKPOINT_DIR --out expected.safetensors [--only audio]

With --only, the other parts of the file are checked and kept.

`verify` compares the engine with it. Hidden states: 0 is the scaled embedding, N the stream after the final norm.
Runs on the CPU: PyTorch's GPU attention gives wrong values for masks whose rows are not a multiple of eight long.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import Gemma4AudioFeatureExtractor

import corpus
from architecture import token_id
from arithmetic import arithmetic_turn
from dialogue import Conversation, Turn, prompt, segments
from evaluate import HELD_OUT, load
from train import SEED

STEPS = 16
TEXT_TOKENS = 12
IMAGE_GRID = (9, 6)  # patches across and down: six soft tokens
AUDIO_SAMPLES = 4000


def text_part(model, tokenizer: Tokenizer, device: torch.device) -> dict[str, Tensor]:
    made = Conversation([Turn("Tell me a story.", "Once upon a time, there was a small fox.")])
    ids = tokenizer.encode("".join(text for text, _ in segments(made)), add_special_tokens=False).ids[:TEXT_TOKENS]
    hidden: dict[int, Tensor] = {}
    inner = model.model.language_model
    hooks = [inner.layers[0].register_forward_pre_hook(lambda module, inputs: hidden.__setitem__(0, inputs[0]))]
    for index, module in enumerate(inner.layers[:-1]):
        hooks.append(
            module.register_forward_hook(
                lambda module, inputs, output, index=index: hidden.__setitem__(
                    index + 1, output[0] if isinstance(output, tuple) else output
                )
            )
        )
    hooks.append(
        inner.norm.register_forward_hook(lambda module, inputs, output: hidden.__setitem__(len(inner.layers), output))
    )
    logits = model(input_ids=torch.tensor([ids], device=device), use_cache=False).logits[0]
    for hook in hooks:
        hook.remove()
    out = {"text.input_ids": torch.tensor(ids, dtype=torch.int32), "text.logits": logits}
    return out | {f"text.hidden.{index}": state[0] for index, state in hidden.items()}


def generate_part(model, tokenizer: Tokenizer, device: torch.device) -> dict[str, Tensor]:
    """Greedy steps beyond the sliding window; those still inside it become part of the prompt."""
    r, turns = corpus.seeded(SEED, "expected"), []
    ids: list[int] = []
    while len(ids) < model.config.text_config.sliding_window - 12:
        text = prompt(Conversation([*turns, Turn("Tell me a story about a bear called Stella.")]))
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        turns.append(arithmetic_turn(r, HELD_OUT, problems=0.0))
    sequence, rows = list(ids), []
    for _ in range(STEPS):
        rows.append(
            model(input_ids=torch.tensor([sequence], device=device), use_cache=False, logits_to_keep=1).logits[0, -1]
        )
        sequence.append(int(rows[-1].argmax()))
    start = max(model.config.text_config.sliding_window + 2, len(ids))
    logits = torch.stack(rows)[start - len(ids) :]
    best = logits.topk(2).values
    return {
        "generate.prompt": torch.tensor(sequence[:start], dtype=torch.int32),
        "generate.tokens": torch.tensor(sequence[start:], dtype=torch.int32),
        "generate.logits": logits,
        "generate.margins": best[:, 0] - best[:, 1],
    }


def prompt_with(tokenizer: Tokenizer, opening: str, placeholder: str, closing: str, count: int, ask: str) -> list[int]:
    text = prompt(Conversation([Turn(opening + placeholder * count + closing + ask)]))
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert ids.count(token_id(placeholder)) == count
    return ids


def image_part(model, tokenizer: Tokenizer, device: torch.device) -> dict[str, Tensor]:
    across, down = IMAGE_GRID
    count = across * down
    pixels = torch.rand((count + 9, 768), generator=torch.Generator().manual_seed(SEED)).half()
    pixels[count:] = 0
    positions = torch.full((count + 9, 2), -1)
    positions[:count, 0] = torch.arange(count) % across
    positions[:count, 1] = torch.arange(count) // across
    values, places = pixels.float()[None].to(device), positions[None].to(device)
    tower = model.model.vision_tower(pixel_values=values, pixel_position_ids=places).last_hidden_state
    ids = prompt_with(tokenizer, "<|image>", "<|image|>", "<image|>", len(tower), "What is this?")
    logits = model(
        input_ids=torch.tensor([ids], device=device), pixel_values=values, image_position_ids=places, use_cache=False
    ).logits[0]
    return {
        "image.pixel_values": pixels,
        "image.position_ids": positions.int(),
        "image.tower": tower,
        "image.soft_tokens": model.model.embed_vision(tower),
        "image.input_ids": torch.tensor(ids, dtype=torch.int32),
        "image.logits": logits,
    }


def audio_part(model, tokenizer: Tokenizer, device: torch.device) -> dict[str, Tensor]:
    time = torch.arange(AUDIO_SAMPLES) / 16000
    waveform = 0.3 * torch.sin(2 * torch.pi * (300 + 900 * time) * time) + 0.02 * torch.randn(
        AUDIO_SAMPLES, generator=torch.Generator().manual_seed(SEED)
    )
    made = Gemma4AudioFeatureExtractor()([waveform.numpy()], sampling_rate=16000, return_tensors="pt")
    features = torch.nn.functional.pad(made["input_features"].float(), (0, 0, 0, 6)).to(device)
    mask = torch.nn.functional.pad(made["input_features_mask"].bool(), (0, 6)).to(device)
    result = model.model.audio_tower(features, mask)
    tower = result.last_hidden_state[result.attention_mask]
    ids = prompt_with(tokenizer, "<|audio>", "<|audio|>", "<audio|>", len(tower), "What do you hear?")
    logits = model(
        input_ids=torch.tensor([ids], device=device), input_features=features, input_features_mask=mask, use_cache=False
    ).logits[0]
    return {
        "audio.waveform": waveform,
        "audio.input_features": features[0],
        "audio.input_features_mask": mask[0].int(),
        "audio.tower": tower,
        "audio.soft_tokens": model.model.embed_audio(tower),
        "audio.input_ids": torch.tensor(ids, dtype=torch.int32),
        "audio.logits": logits,
    }


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument(
        "--tokenizer", type=Path, default=Path(__file__).parents[2] / "packages/demo-model/model/tokenizer.json"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", help="the part of the file to write again")
    arguments = parser.parse_args()
    device = torch.device("cpu")
    model = load(arguments.checkpoint, device)
    tokenizer = Tokenizer.from_file(str(arguments.tokenizer))
    out: dict[str, Tensor] = {}
    parts = [text_part, generate_part]
    parts += [image_part] if model.model.vision_tower is not None else []
    parts += [audio_part] if model.model.audio_tower is not None else []
    kept = load_file(str(arguments.out)) if arguments.only else {}
    for part in parts:
        out |= part(model, tokenizer, device)
        for name in out.keys() & {name for name in kept if not name.startswith(f"{arguments.only}.")}:
            assert torch.allclose(out[name].float(), kept[name].float(), rtol=1e-3, atol=1e-3), name
            out[name] = kept[name]
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in out.items()}, str(arguments.out))
        print(part.__name__, sum(tensor.nbytes for tensor in out.values()) // 1000, "kB", flush=True)
    print(tokenizer.decode(out["generate.tokens"].tolist(), skip_special_tokens=False))


if __name__ == "__main__":
    main()
