"""Trains the text part of the demo model; resumable, in sessions of any length.

    python3 train.py --out OUT [--variant moe] [--resume STATE] [--minutes M | --until STEP] [--decay N]

A piece runs at a constant learning rate until `--minutes` are over or step `--until` is reached, saves that state, then
lets the learning rate fall to zero in `--decay` steps and saves the result as a Hugging Face checkpoint. The next piece
resumes from the saved state, not from the result. Data depends on (seed, step) alone.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing as mp
import os
import time
from pathlib import Path

import numpy as np
import torch
import torch._dynamo
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

import corpus
from architecture import VARIANTS, variant_of
from mixture import BALANCE
from model import TextModel, check_forward, make_model, store

SEED = 20261129
BATCH_ROWS = 32
STEPS_PER_SHARD = corpus.ROWS_PER_SHARD // BATCH_ROWS
PEAK, WARMUP = 2e-3, 300
LIMIT_BYTES = 15_000_000
TOKENIZER: Tokenizer | None = None


def start_worker(path: str) -> None:
    global TOKENIZER
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    TOKENIZER = Tokenizer.from_file(path)


def shard_job(job: tuple[int, bool]) -> np.ndarray:
    assert TOKENIZER is not None
    return corpus.make_shard(TOKENIZER, SEED, job[0], job[1])


def endless(start: int):
    index = start
    while True:
        yield (index, False)
        index += 1


class Batches:
    """Rows of successive shards, which other processes create slightly ahead."""

    def __init__(self, pool, step: int, ahead: int = 24) -> None:
        self.pool, self.jobs, self.pending = pool, endless(step // STEPS_PER_SHARD), []
        self.offset, self.rows = step % STEPS_PER_SHARD, None
        self.ahead = ahead

    def next(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        while len(self.pending) < self.ahead:
            self.pending.append(self.pool.apply_async(shard_job, (next(self.jobs),)))
        if self.rows is None:
            self.rows = torch.from_numpy(self.pending.pop(0).get().astype(np.int32)).to(device)
        part = self.rows[self.offset :: STEPS_PER_SHARD]
        self.offset += 1
        if self.offset == STEPS_PER_SHARD:
            self.offset, self.rows = 0, None
        return part[:, 0].long(), part[:, 1], part[:, 2].float() * corpus.WEIGHT_UNIT


def save_shards(tensors: dict[str, torch.Tensor], folder: Path, prefix: str) -> None:
    """Writes bfloat16 tensors to files below the size limit: PREFIX-1.safetensors, PREFIX-2.safetensors, …"""
    files: list[dict[str, torch.Tensor]] = [{}]
    size = 0
    for name, tensor in tensors.items():
        tensor = tensor.detach().bfloat16().cpu().contiguous()
        if size + tensor.nbytes > LIMIT_BYTES:
            files.append({})
            size = 0
        files[-1][name] = tensor
        size += tensor.nbytes
    for index, content in enumerate(files, 1):
        save_file(content, str(folder / f"{prefix}-{index}.safetensors"), metadata={"format": "pt"})


def load_shards(folder: Path, prefix: str) -> dict[str, torch.Tensor]:
    out: dict[str, torch.Tensor] = {}
    for path in sorted(folder.glob(f"{prefix}-*.safetensors")):
        out |= load_file(str(path))
    return out


def checkpoint_tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """All tensors of a Hugging Face checkpoint of the model."""
    return {
        name: tensor
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight" and not name.endswith("embed_scale")
    }


def learning_rate(step: int, start: int, decay_from: int | None, decay_steps: int) -> float:
    warm = min(1.0, (step - start + 1) / (WARMUP if start == 0 else 100))
    if decay_from is None:
        return PEAK * warm
    return PEAK * warm * max(0.0, 1.0 - (step - decay_from) / decay_steps)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variant", choices=VARIANTS, default="dense")
    parser.add_argument("--resume", type=Path)
    parser.add_argument(
        "--tokenizer", type=Path, default=Path(__file__).parents[2] / "packages/demo-model/model/tokenizer.json"
    )
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--until", type=int, default=10**9)
    parser.add_argument("--decay", type=int, default=1500)
    parser.add_argument("--decay-minutes", type=float, default=1e9)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--plain", action="store_true", help="without torch.compile")
    arguments = parser.parse_args()
    began = time.time()
    arguments.out.mkdir(parents=True, exist_ok=True)

    pool = mp.get_context("fork").Pool(arguments.workers, start_worker, (str(arguments.tokenizer),))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("highest")
    variant = arguments.variant
    model = make_model(SEED, variant).to(device)
    start = 0
    if arguments.resume:
        assert variant_of(arguments.resume) == variant, "a piece resumes from its own variant"
        state = json.loads((arguments.resume / "state.json").read_text())
        start = state["step"]
        missing, unexpected = model.load_state_dict(
            {k: v.float() for k, v in load_shards(arguments.resume, "state").items()}, strict=False
        )
        assert not unexpected, unexpected
    difference = check_forward(model, variant, device)
    print(f"logits differ from transformers by at most {difference:.2e}; {time.time() - began:.0f} s", flush=True)
    assert difference < 2e-3, difference

    live = {name: parameter for name, parameter in model.named_parameters() if "language_model" in name}
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for parameter in live.values():
        parameter.requires_grad_(True)
    master = {name: parameter.detach().clone() for name, parameter in live.items()}
    matrices = [tensor for tensor in master.values() if tensor.ndim > 1]
    gains = [tensor for tensor in master.values() if tensor.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.05}, {"params": gains, "weight_decay": 0.0}],
        lr=PEAK,
        betas=(0.9, 0.97),
        fused=device.type == "cuda",
    )
    print(
        f"{sum(map(torch.Tensor.numel, master.values())) / 1e6:.2f} M text parameters, {sum(p.numel() for p in model.parameters()) / 1e6:.2f} M in all",
        flush=True,
    )
    held_out = torch.from_numpy(pool.apply(shard_job, ((0, True),)).astype(np.int32)).to(device)

    torch._dynamo.config.recompile_limit = 32
    text, plain = TextModel(model, variant, compiled=not arguments.plain), TextModel(model, variant)
    batches = Batches(pool, start)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32

    def step_once(rate: float) -> tuple[torch.Tensor, torch.Tensor]:
        store(live, master)
        loss, balance = text.loss(*batches.next(device), dtype)
        (loss + BALANCE * balance).backward()
        for name, tensor in master.items():
            tensor.grad = live[name].grad
        torch.nn.utils.clip_grad_norm_(list(master.values()), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        for parameter in live.values():
            parameter.grad = None
        return loss.detach(), balance.detach()

    @torch.no_grad()
    def held_out_loss() -> float:
        store(live, master)
        losses = []
        for part in held_out.split(BATCH_ROWS)[:4]:
            losses.append(
                plain.loss(part[:, 0].long(), part[:, 1], part[:, 2].float() * corpus.WEIGHT_UNIT, dtype)[0].item()
            )
        return sum(losses) / len(losses)

    def write_result() -> None:
        """The unquantised model, which the loader quantises, and a record of its training."""
        result = {name: master.get(name, tensor) for name, tensor in checkpoint_tensors(model).items()}
        for prefix in ("text", "towers"):
            part = {name: tensor for name, tensor in result.items() if ("language_model" in name) == (prefix == "text")}
            if part:
                save_shards(part, arguments.out, prefix)
        history = {
            "seed": SEED,
            "start": start,
            "decay_from": decay_from,
            "steps": step,
            "decay": decay_steps,
            "log": log,
        }
        (arguments.out / "train.json").write_text(json.dumps(history, indent=1))

    step, decay_from, recent = start, None, []
    decay_steps = arguments.decay
    log: list[dict] = []
    first_step = None
    while True:
        elapsed = (time.time() - began) / 60
        if decay_from is None and step > start and (elapsed >= arguments.minutes or step >= arguments.until):
            state = {
                name: master.get(name, tensor)
                for name, tensor in checkpoint_tensors(model).items()
                if "language_model" in name
            }
            save_shards(state, arguments.out, "state")
            (arguments.out / "state.json").write_text(json.dumps({"step": step, "variant": variant}))
            if arguments.decay_minutes < 1e8:
                pace = (time.time() - first_step[1]) / max(1, step - first_step[0])
                decay_steps = int(arguments.decay_minutes * 60 / pace)
            decay_from = step
            print(f"step {step}: state saved, {decay_steps} steps of decay follow", flush=True)
        if decay_from is not None and step >= decay_from + decay_steps:
            break
        loss, balance = step_once(learning_rate(step, start, decay_from, decay_steps))
        step += 1
        if step == start + 20:
            torch.cuda.synchronize() if device.type == "cuda" else None
            first_step = (step, time.time())
        recent.append(loss)
        if step % 500 == 0 or step == start + 1:
            train_loss = torch.stack(recent[-100:]).mean().item()
            assert math.isfinite(train_loss)
            log.append(
                {
                    "step": step,
                    "loss": round(train_loss, 4),
                    "balance": round(balance.item(), 3),
                    "held_out": round(held_out_loss(), 4),
                    "seconds": round(time.time() - began),
                }
            )
            print(json.dumps(log[-1]), flush=True)
            recent = []
            if decay_from is not None:
                # An interrupted session still leaves a model.
                write_result()
    store(live, master)
    print(f"held out {held_out_loss():.4f} at step {step}, {time.time() - began:.0f} s", flush=True)
    write_result()
    pool.terminate()


if __name__ == "__main__":
    main()
