"""Trains both towers and continues to train the text part, on pictures, clips and conversations together.

    python3 train_media.py --out OUT --fonts FONTS --espeak BUNDLE --minutes M [--resume OUT_OF_BEFORE]

Without --resume the text part starts from the shipped model. The learning rate is a function of the time that is left, so a
run ends when it should, on any machine. Needs a GPU and as many processors as can be had: they draw and speak all the while.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing as mp
import random
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
import torch._dynamo
import torch.nn.functional as F
from tokenizers import Tokenizer

import speech
import train
from check_export import read
from media import DOCUMENTS, IDS, SOURCES, WEIGHTS, Writer
from media_feed import CLIP_SAMPLES, GPU, Scenes, Speech, Texts, held_out_job, start_worker
from media_vary import mask_features, vary_pixels
from model import TextModel, check_forward, make_model, store
from reader import Reader, attributes
from restore import dequantized
from scenes import BLOCKS
from speech_ctc import SpellingHead
from speech_features import gather, log_mel, soft_token_count
from speech_room import Room
from speech_texts import word_errors
from towers import Towers, check_towers

HERE = Path(__file__).parent
MODEL = HERE.parents[1] / "packages/demo-model/model"
SHARES = {"text": 0.28, "image": 0.46, "audio": 0.26}
SPELLING = 0.3  # weight of the spelling task


def restored() -> dict[str, torch.Tensor]:
    """The shipped model's text part."""
    return {name: torch.from_numpy(np.array(tensor)) for name, tensor in dequantized(read(MODEL)).items()}


def make_clips(
    folder: Path, bundle: Path, clips: int, processes: int, seed: int, held_out: bool = False
) -> subprocess.Popen:
    options = [
        str(folder),
        "--bundle",
        str(bundle),
        "--clips",
        str(clips),
        "--processes",
        str(processes),
        "--seed",
        str(seed),
    ]
    return subprocess.Popen([sys.executable, str(HERE / "speech.py"), *options, *(["--held-out"] if held_out else [])])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--fonts", type=Path, required=True)
    parser.add_argument("--espeak", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("/tmp/media"), help="for clips")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm/media"), help="for pictures on their way")
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--decay", type=float, default=0.4, help="share of the time in which the learning rate falls")
    parser.add_argument("--peak", type=float, default=1.5e-3)
    parser.add_argument("--text-rate", type=float, default=0.6, help="learning rate of the text part, relative")
    parser.add_argument("--images", type=int, default=96)
    parser.add_argument("--clips", type=int, default=96)
    parser.add_argument("--rows", type=int, nargs=3, default=(10, 13, 10), help="rows of text, pictures, clips")
    parser.add_argument("--pool", type=int, nargs=2, default=(16_000, 100_000), help="clips made at first, and later")
    parser.add_argument("--held-out", type=int, default=128, help="held-out scenes and clips")
    parser.add_argument("--workers", type=int, nargs=3, default=(8, 3, 16), help="for scenes, text, speech")
    parser.add_argument("--evaluate-minutes", type=float, default=2.5)
    parser.add_argument("--spelling", action="store_true", help="with the spelling task, which finds sounds early")
    parser.add_argument(
        "--graph", action="store_true", help="records a step as a CUDA graph; without the spelling task"
    )
    parser.add_argument("--plain", action="store_true", help="without torch.compile")
    options = parser.parse_args()
    began = time.time()
    minutes = lambda: (time.time() - began) / 60  # noqa: E731
    say = lambda *parts: print(f"[{minutes():.2f}]", *parts, flush=True)  # noqa: E731
    options.out.mkdir(parents=True, exist_ok=True)
    options.work.mkdir(parents=True, exist_ok=True)
    options.memory.mkdir(parents=True, exist_ok=True)
    for old in options.memory.glob("scenes-*"):
        old.unlink()

    tokenizer_path = str(MODEL / "tokenizer.json")
    tokenizer = Tokenizer.from_file(tokenizer_path)
    fonts, held_out_fonts = (sorted((options.fonts / part).iterdir()) for part in ("train", "held-out"))
    n_images, n_clips = options.images, options.clips
    rows_of = dict(zip(("text", "image", "audio"), options.rows))
    seed = int(began) % 100_000
    started = [
        make_clips(options.work / "held-out", options.espeak, options.held_out, 2, train.SEED, True),
        make_clips(options.work / "first", options.espeak, options.pool[0], options.workers[2], seed),
    ]
    context = mp.get_context("fork")
    scene_pool = context.Pool(options.workers[0], start_worker, (tokenizer_path,))
    text_pool = context.Pool(options.workers[1], start_worker, (tokenizer_path,))
    held_out_scenes = scene_pool.map_async(held_out_job, [(i, held_out_fonts) for i in range(options.held_out)])
    writer = Writer(tokenizer)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    on_gpu = device.type == "cuda"
    dtype = torch.bfloat16 if on_gpu else torch.float32
    random.seed(seed)
    first_shard = 2000 + seed
    texts = Texts(text_pool, first_shard, rows_of["text"], device, ahead=6)
    scenes = Scenes(
        scene_pool,
        n_images,
        rows_of["image"],
        fonts,
        options.memory,
        device,
        900 if on_gpu else 4,
        2 * options.workers[0],
    )

    model = make_model(train.SEED).to(device)
    step = 0
    if options.resume:
        weights = train.load_shards(options.resume, "text") | train.load_shards(options.resume, "towers")
        step = json.loads((options.resume / "state.json").read_text())["step"]
    else:
        weights = restored()
    _, unexpected = model.load_state_dict({name: tensor.float() for name, tensor in weights.items()}, strict=False)
    assert not unexpected, unexpected
    differences = check_forward(model, "dense", device), check_towers(model, device)
    say(f"logits differ from transformers by at most {differences[0]:.1e}, soft tokens by {differences[1]:.1e}")
    assert differences[0] < 2e-3 and differences[1] < 1e-3, differences

    live = dict(model.named_parameters())
    for parameter in live.values():
        parameter.requires_grad_(True)
    master = {name: parameter.detach().clone() for name, parameter in live.items()}
    spelling = SpellingHead(model.config.text_config.hidden_size).to(device)
    groups = [
        {
            "params": [
                tensor
                for name, tensor in master.items()
                if ("language_model" in name) == is_text and (tensor.ndim > 1) == is_matrix
            ],
            "weight_decay": 0.05 if is_matrix else 0.0,
            "scale": options.text_rate if is_text else 1.0,
        }
        for is_text in (True, False)
        for is_matrix in (True, False)
    ]
    groups.append({"params": list(spelling.parameters()), "weight_decay": 0.0, "scale": 1.0})
    optimizer = torch.optim.AdamW(groups, lr=options.peak, betas=(0.9, 0.97), fused=on_gpu)
    trained = [tensor for group in groups for tensor in group["params"]]
    torch._dynamo.config.recompile_limit = 64
    text, towers = TextModel(model, "dense", not options.plain), Towers(model, not options.plain)
    plain_text, plain_towers = TextModel(model, "dense"), Towers(model)
    vary = vary_pixels
    if not options.plain:
        vary = torch.compile(vary_pixels, dynamic=False)
    room = Room(torch.Generator(device).manual_seed(seed))
    shares = torch.cat([torch.full((count,), SHARES[part]) for part, count in rows_of.items()]).to(device)

    def inputs() -> dict[str, torch.Tensor]:
        """A new batch: rows of all parts, prepared pictures, features of clips in new rooms."""
        text_rows = texts.next()
        patches, grids, image_rows = scenes.next()
        audio, audio_rows, starts, lengths, codes, sizes, counts = clips.next()
        with torch.no_grad():
            waves = room(gather(audio, starts, lengths, CLIP_SAMPLES), lengths)
            features, valid = log_mel(waves, lengths)
            features, valid = F.pad(features, (0, 0, 0, 1)), F.pad(valid, (0, 1))
            offset = 1 + n_images * BLOCKS
            sources = (
                torch.zeros_like(text_rows[:, 0]),
                image_rows[SOURCES],
                audio_rows[SOURCES] + offset * (audio_rows[IDS] == 0) * (audio_rows[DOCUMENTS] > 0),
            )
            weights = [
                part.float() / part.sum().clamp_min(1)
                for part in (text_rows[:, 2], image_rows[WEIGHTS], audio_rows[WEIGHTS])
            ]
            made = {
                "pixels": vary(patches),
                "grids": grids.long(),
                "features": mask_features(features, valid),
                "valid": valid,
                "ids": torch.cat((text_rows[:, 0], image_rows[IDS], audio_rows[IDS])).long(),
                "documents": torch.cat((text_rows[:, 1], image_rows[DOCUMENTS], audio_rows[DOCUMENTS])),
                "sources": torch.cat(sources).long(),
                "weights": torch.cat(weights) * shares[:, None],
            }
        return made | {"codes": codes, "sizes": sizes, "counts": counts}

    def forward_backward(x: dict[str, torch.Tensor], spell: bool) -> torch.Tensor:
        """Gradients with respect to the stored form of the weights, in `live`; returns the losses of the parts."""
        store(live, master)
        seen = towers.vision(x["pixels"], x["grids"], dtype)
        heard = towers.audio(x["features"], x["valid"], dtype)
        soft = torch.cat((seen.new_zeros(1, seen.shape[-1]), seen.flatten(0, 1), heard.flatten(0, 1)))
        h, _ = text.hidden(x["ids"], x["documents"], dtype, soft, x["sources"])
        targets = torch.cat((x["ids"][:, 1:], x["ids"][:, :1]), 1)
        shifted = torch.cat((x["weights"][:, 1:], torch.zeros_like(x["weights"][:, :1])), 1)
        by_row = text.row_losses(h, text.gain, text.table, targets, shifted, dtype)
        loss = by_row.sum()
        losses = [part.sum() / SHARES[name] for name, part in zip(rows_of, by_row.split(list(rows_of.values())))]
        if spell:
            losses.append(spelling.loss(heard, x["counts"], x["codes"], x["sizes"]))
            loss = loss + SPELLING * losses[-1]
        loss.backward()
        return torch.stack(losses).detach()

    def update(rate: float) -> None:
        for name, tensor in master.items():
            tensor.grad = live[name].grad
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"]
        optimizer.step()

    class Captured:
        """The step without Python overhead: the GPU work is recorded once and replayed, without the spelling task."""

        def __init__(self) -> None:
            made = inputs()
            with GPU:
                self.x = {
                    name: tensor.clone() for name, tensor in made.items() if name not in ("codes", "sizes", "counts")
                }
                for parameter in live.values():
                    parameter.grad = None
                torch.cuda.synchronize()
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph, stream=side, capture_error_mode="thread_local"):
                    self.losses = forward_backward(self.x, False)
                torch.cuda.synchronize()

        def __call__(self, rate: float) -> torch.Tensor:
            made = inputs()
            for name, tensor in self.x.items():
                tensor.copy_(made[name])
            self.graph.replay()
            update(rate)
            return self.losses.clone()

    def plain_step(rate: float) -> torch.Tensor:
        made = inputs()
        if side is not None:
            side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side) if side is not None else nullcontext():
            losses = forward_backward(made, spell)
        if side is not None:
            torch.cuda.current_stream().wait_stream(side)
        update(rate)
        for parameter in live.values():
            parameter.grad = None
        spelling.zero_grad()
        return losses

    spell = options.spelling
    # Work to be recorded must run outside the main stream from the beginning.
    side = torch.cuda.Stream() if on_gpu else None
    step_once = plain_step

    @torch.no_grad()
    def evaluate(show: int = 6) -> dict:
        """Greedy answers with the stored form of the weights."""
        store(live, master)
        reader = Reader(plain_text, tokenizer, device, dtype)
        figures: dict = {}
        made = held_out_scenes.get()
        pixels = torch.from_numpy(np.stack([one[0] for one in made])).to(device).float() / 255
        grids = torch.tensor([one[1] for one in made], device=device)
        soft = torch.cat([plain_towers.vision(p, g, dtype) for p, g in zip(pixels.split(64), grids.split(64))])
        given = reader.run([writer.prompt("image", g[0] * g[1], ask, False) for _, g, ask, _ in made], soft)
        counted = [attributes(answer, text_) for (_, _, _, answer), text_ in zip(made, given)]
        is_text = [
            ("say" in a or "ead" in a or "number" in a or "written" in a or "It says" in w) for _, _, a, w in made
        ]
        for name, wanted in (("things", False), ("printed", True)):
            part = [c for c, kind in zip(counted, is_text) if kind == wanted]
            figures[f"{name}: attributes %"] = round(100 * sum(a for a, _ in part) / max(1, sum(b for _, b in part)), 2)
        figures["scenes exact %"] = round(100 * sum(m[3] == g for m, g in zip(made, given)) / len(made), 1)
        figures["scene errors"] = [f"{m[2]} {m[3]} -> {g}" for m, g in zip(made, given) if m[3] != g][:show]
        heard = speech.load(options.work / "held-out")
        room_ = Room(torch.Generator(device).manual_seed(7))
        lengths, starts = (torch.from_numpy(x).to(device) for x in (heard.lengths, heard.starts))
        waves = room_(gather(torch.from_numpy(heard.audio).to(device), starts, lengths, CLIP_SAMPLES), lengths)
        features, valid = log_mel(waves, lengths)
        soft = plain_towers.audio(F.pad(features, (0, 0, 0, 1)), F.pad(valid, (0, 1)), dtype)
        prompts = [
            writer.prompt("audio", soft_token_count(int(n)), "Transcribe the audio.", False) for n in heard.lengths
        ]
        given = reader.run(prompts, soft, 40)
        wanted = [one["transcript"] for one in heard.texts]
        errors = [word_errors(w, g) for w, g in zip(wanted, given)]
        figures["word error rate %"] = round(100 * sum(e for e, _ in errors) / sum(n for _, n in errors), 2)
        figures["speech errors"] = [f"{w} -> {g}" for w, g in zip(wanted, given) if w != g][:show]
        return figures

    def save() -> None:
        result = {name: master.get(name, tensor) for name, tensor in train.checkpoint_tensors(model).items()}
        for prefix in ("text", "towers"):
            part = {name: tensor for name, tensor in result.items() if ("language_model" in name) == (prefix == "text")}
            train.save_shards(part, options.out, prefix)
        (options.out / "state.json").write_text(json.dumps({"step": step, "variant": "dense"}))
        (options.out / "train.json").write_text(json.dumps({"seed": train.SEED, "steps": step, "log": log}, indent=1))

    for process in started:
        assert process.wait() == 0
    clips = Speech(options.work / "first", writer, n_clips, rows_of["audio"], device)
    more = make_clips(options.work / "more", options.espeak, options.pool[1], max(1, options.workers[2] // 2), seed + 1)
    say(f"{sum(t.numel() for t in master.values()) / 1e6:.2f} M parameters; {options.pool[0]} clips")
    log: list[dict] = []
    recent: list[torch.Tensor] = []
    capture_at = step + 5 if options.graph and on_gpu else -1
    first_step, training_since, evaluated = step, minutes(), minutes()
    total = options.minutes - training_since
    last_report = (step, time.time())
    while minutes() < options.minutes:
        done = (minutes() - training_since) / total
        rate = options.peak * min(1.0, (step - first_step + 1) / 300) * min(1.0, max(0.0, 1 - done) / options.decay)
        if step == capture_at:
            try:
                step_once, recent = Captured(), []
                say("recorded")
            except Exception as failure:  # noqa: BLE001
                say("not recorded, goes on without:", repr(failure)[:500])
                torch.cuda.synchronize()
        recent.append(step_once(rate))
        step += 1
        if step in (first_step + 1, first_step + 20) or step % 250 == 0:
            means = torch.stack(recent[-100:]).mean(0).tolist()
            assert all(map(math.isfinite, means)), means
            pace = (time.time() - last_report[1]) / max(1, step - last_report[0])
            last_report = (step, time.time())
            log.append(
                {
                    "step": step,
                    **{k: round(v, 4) for k, v in zip((*rows_of, "spelling"), means, strict=False)},
                    "rate": round(rate, 6),
                    "ms": round(1000 * pace),
                    "units": scenes.made,
                    "seconds": round(time.time() - began),
                }
            )
            say(json.dumps(log[-1]))
            recent = []
        if more is not None and more.poll() is not None:
            assert more.returncode == 0
            threading.Thread(target=clips.load, args=(options.work / "more",), daemon=True).start()
            more = None
        if minutes() - evaluated > options.evaluate_minutes:
            save()
            log.append({"step": step, **evaluate()})
            say(json.dumps(log[-1], indent=1))
            evaluated = minutes()
    log.append({"step": step, **evaluate(20)})
    say(json.dumps(log[-1], indent=1))
    save()
    (options.out / "done").write_text("yes\n")
    for pool in (scene_pool, text_pool):
        pool.terminate()
    if more is not None:
        more.terminate()


if __name__ == "__main__":
    main()
