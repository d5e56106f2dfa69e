"""Continues to train the hearing of the shipped model: the audio tower and its projector, and nothing else.

    python3 train_hearing.py --out OUT --bundle BUNDLE --seconds S

The text part and the vision tower keep every bit, so answers about texts and pictures stay as they are. The learning rate is a function
of the time that is left. OUT/hearing.safetensors holds the trained tensors, which `install_hearing.py` writes to the model; it is
saved again and again. Needs a GPU, and processors for the synthesisers. With --trial it runs on a CPU, to see whether all parts work.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
import torch._dynamo
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import Tokenizer

import speech
from check_export import read
from hearing_feed import CLIP_SAMPLES, CLIP_SECONDS, Pools
from media import DOCUMENTS, IDS, SOURCES, WEIGHTS, Writer
from media_feed import GPU
from media_vary import mask_features
from model import TextModel, check_forward, make_model, store
from reader import Reader
from restore import TEXT, TOWERS, dequantized
from speech_features import gather, log_mel, soft_token_count
from speech_room import Room
from speech_texts import word_errors
from speech_warp import change_speed, warp
from towers import Towers, check_towers
from train import SEED

MODEL = Path(__file__).parents[2] / "packages/demo-model/model"
HEARING = ("model.audio_tower.", "model.embed_audio.")
HELD_OUT = ("flite", "espeak", "espeak-wide")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("/dev/shm/hearing"), help="for clips")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--decay", type=float, default=0.7, help="share of the time in which the learning rate falls")
    parser.add_argument("--peak", type=float, default=1e-3)
    parser.add_argument("--clips", type=int, default=192)
    parser.add_argument("--rows", type=int, default=18)
    parser.add_argument("--processes", type=int, default=13, help="for synthesisers")
    parser.add_argument("--pools", type=float, default=1.0, help="multiplies the number of clips")
    parser.add_argument("--held-out", type=int, default=200, help="held-out clips of each kind")
    parser.add_argument("--evaluations", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without torch.compile and CUDA graphs")
    parser.add_argument("--trial", action="store_true", help="on a CPU")
    options = parser.parse_args()
    began = time.time()
    say = lambda *parts: print(f"[{time.time() - began:.1f}]", *parts, flush=True)  # noqa: E731
    options.out.mkdir(parents=True, exist_ok=True)
    options.work.mkdir(parents=True, exist_ok=True)

    tokenizer_path = str(MODEL / "tokenizer.json")
    pools = Pools(
        options.work,
        options.bundle,
        tokenizer_path,
        options.clips,
        options.rows,
        options.processes,
        options.pools,
        SEED + 1,
    )
    for kind in HELD_OUT:
        speech.make(
            options.work / f"held-out-{kind}", options.bundle, options.held_out, SEED, 2, True, CLIP_SECONDS, kind
        )
    device = torch.device("cpu" if options.trial else "cuda")
    on_gpu = device.type == "cuda"
    dtype = torch.bfloat16 if on_gpu else torch.float32
    tokenizer = Tokenizer.from_file(tokenizer_path)
    model = make_model(SEED).to(device)
    weights = {name: torch.from_numpy(np.array(t)) for name, t in dequantized(read(MODEL), TEXT + TOWERS).items()}
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and all("lm_head" in name or "embed_scale" in name for name in missing), (missing, unexpected)
    differences = check_forward(model, "dense", device), check_towers(model, device)
    say(f"logits differ from transformers by at most {differences[0]:.1e}, soft tokens by {differences[1]:.1e}")
    assert differences[0] < 2e-3 and differences[1] < 1e-3, differences

    live = dict(model.named_parameters())
    for name, parameter in live.items():
        parameter.requires_grad_(name.startswith(HEARING))
    live = {name: parameter for name, parameter in live.items() if parameter.requires_grad}
    master = {name: parameter.detach().clone() for name, parameter in live.items()}
    trained = list(master.values())
    groups = [
        {"params": [t for t in trained if (t.ndim > 1) == is_matrix], "weight_decay": 0.02 if is_matrix else 0.0}
        for is_matrix in (True, False)
    ]
    optimizer = torch.optim.AdamW(groups, lr=options.peak, betas=(0.9, 0.97), fused=on_gpu)
    torch._dynamo.config.recompile_limit = 64
    text, plain_towers = TextModel(model, "dense"), Towers(model)
    towers = plain_towers if options.plain or not on_gpu else Towers(model, True)
    generator = torch.Generator(device).manual_seed(SEED)
    room = Room(generator)

    def inputs() -> dict[str, torch.Tensor]:
        """A new batch: rows, and features of clips with other heads in new rooms."""
        audio, rows, starts, lengths, changed = pools.next()
        with torch.no_grad():
            waves = room(change_speed(audio, starts, lengths, changed, CLIP_SAMPLES), changed)
            features, valid = log_mel(waves, changed, lambda spectra: warp(spectra, generator))
            features, valid = F.pad(features, (0, 0, 0, 1)), F.pad(valid, (0, 1))
            weights = rows[WEIGHTS].float()
            return {
                "features": mask_features(features, valid),
                "valid": valid,
                "ids": rows[IDS].long(),
                "documents": rows[DOCUMENTS],
                "sources": rows[SOURCES].long(),
                "weights": weights / weights.sum().clamp_min(1),
            }

    def forward_backward(x: dict[str, torch.Tensor]) -> torch.Tensor:
        """Gradients with respect to the stored form of the weights, in `live`; returns the loss."""
        store(live, master)
        heard = towers.audio(x["features"], x["valid"], dtype)
        soft = torch.cat((heard.new_zeros(1, heard.shape[-1]), heard.flatten(0, 1)))
        h, _ = text.hidden(x["ids"], x["documents"], dtype, soft, x["sources"])
        targets = torch.cat((x["ids"][:, 1:], x["ids"][:, :1]), 1)
        shifted = torch.cat((x["weights"][:, 1:], torch.zeros_like(x["weights"][:, :1])), 1)
        loss = text.row_losses(h, text.gain, text.table, targets, shifted, dtype).sum()
        loss.backward()
        return loss.detach()

    def update(rate: float) -> None:
        for name, tensor in master.items():
            tensor.grad = live[name].grad
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()

    class Captured:
        """The step without Python overhead: the GPU work is recorded once and replayed."""

        def __init__(self) -> None:
            made = inputs()
            with GPU:
                self.x = {name: tensor.clone() for name, tensor in made.items()}
                for parameter in live.values():
                    parameter.grad = None
                torch.cuda.synchronize()
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph, stream=side, capture_error_mode="thread_local"):
                    self.loss = forward_backward(self.x)
                torch.cuda.synchronize()

        def __call__(self, rate: float) -> torch.Tensor:
            made = inputs()
            for name, tensor in self.x.items():
                tensor.copy_(made[name])
            self.graph.replay()
            update(rate)
            return self.loss.clone()

    # Work to be recorded must run outside the main stream from the beginning.
    side = torch.cuda.Stream() if on_gpu else None

    def plain_step(rate: float) -> torch.Tensor:
        made = inputs()
        if side is not None:
            side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side) if side is not None else nullcontext():
            loss = forward_backward(made)
        if side is not None:
            torch.cuda.current_stream().wait_stream(side)
        update(rate)
        for parameter in live.values():
            parameter.grad = None
        return loss

    @torch.no_grad()
    def evaluate(show: int = 0) -> dict:
        """Greedy transcripts of held-out voices and sentences with the stored form of the weights, as they are and in rooms."""
        store(live, master)
        reader, writer = Reader(text, tokenizer, device, dtype), Writer(tokenizer)
        figures: dict = {}
        for kind in HELD_OUT:
            heard = speech.load(options.work / f"held-out-{kind}")
            lengths, starts = (torch.from_numpy(x).to(device) for x in (heard.lengths, heard.starts))
            clean = gather(torch.from_numpy(heard.audio).to(device), starts, lengths, CLIP_SAMPLES)
            wanted = [one["transcript"] for one in heard.texts]
            prompts = [
                writer.prompt("audio", soft_token_count(int(n)), "Transcribe the audio.", False) for n in heard.lengths
            ]
            for place in ("", " in rooms"):
                waves = Room(torch.Generator(device).manual_seed(7))(clean, lengths) if place else clean
                features, valid = log_mel(waves, lengths)
                soft = plain_towers.audio(F.pad(features, (0, 0, 0, 1)), F.pad(valid, (0, 1)), dtype)
                given = reader.run(prompts, soft, 40)
                errors = [word_errors(w, g) for w, g in zip(wanted, given)]
                figures[f"{kind}{place}: words wrong %"] = round(
                    100 * sum(e for e, _ in errors) / sum(n for _, n in errors), 2
                )
                if show and not place:
                    figures[f"{kind}: errors"] = [f"{w} -> {g}" for w, g in zip(wanted, given) if w != g][:show]
        return figures

    def save() -> None:
        content = {name: tensor.detach().bfloat16().cpu().contiguous() for name, tensor in master.items()}
        save_file(content, str(options.out / "new.safetensors"), metadata={"format": "pt"})
        (options.out / "new.safetensors").rename(options.out / "hearing.safetensors")
        (options.out / "hearing.json").write_text(json.dumps({"seed": SEED, "steps": step, "log": log}, indent=1) + "\n")

    step, log, recent = 0, [], []
    log.append({"step": 0, **evaluate()})
    say(json.dumps(log[-1]))
    pools.begin(device)
    say(f"{sum(t.numel() for t in trained) / 1e6:.2f} M parameters, {pools.clips} clips")
    training_since, saved, evaluations = time.time(), time.time(), 0
    total = options.seconds - (training_since - began)
    step_once, last_report = plain_step, (0, time.time())
    while (done := (time.time() - training_since) / total) < 1:
        rate = options.peak * min(1.0, (step + 1) / 200) * min(1.0, (1 - done) / options.decay)
        if step == 5 and on_gpu and not options.plain:
            try:
                step_once = Captured()
                say("recorded")
            except Exception as failure:  # noqa: BLE001
                say("not recorded, goes on without:", repr(failure)[:500])
                torch.cuda.synchronize()
        recent.append(step_once(rate))
        step += 1
        if step in (1, 5, 50) or step % 250 == 0 or options.trial:
            loss = torch.stack(recent).mean().item()
            assert math.isfinite(loss), loss
            pace = (time.time() - last_report[1]) / (step - last_report[0])
            last_report, recent = (step, time.time()), []
            figures = {"loss": round(loss, 4), "rate": round(rate, 6), "ms": round(1000 * pace), "clips": pools.clips}
            log.append({"step": step, **figures})
            say(json.dumps(log[-1]))
        if pools.renew():
            say("larger pools")
        if time.time() - saved > 20:
            save()
            saved = time.time()
        if evaluations < options.evaluations and done > (evaluations + 1) / (options.evaluations + 1):
            log.append({"step": step, **evaluate()})
            say(json.dumps(log[-1]))
            evaluations += 1
            last_report = (step, time.time())
    save()
    say("saved")
    log.append({"step": step, **evaluate(12)})
    save()
    say(json.dumps(log[-1], indent=1))
    pools.close()


if __name__ == "__main__":
    main()
