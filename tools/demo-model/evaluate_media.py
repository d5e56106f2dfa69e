"""Measures a checkpoint on the held-out pictures and clips of the package: greedy answers with the stored weights, in float32.

    python3 evaluate_media.py CHECKPOINT_DIR [--out FIGURES.json]

Runs on a CPU. Needs pillow and soundfile. `measure_media.mjs` does the same with our own engine.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import soundfile
import torch
import torch.nn.functional as F
from PIL import Image
from tokenizers import Tokenizer

from evaluate import load
from media import Sample, Writer
from model import TextModel
from reader import Reader, attributes
from scenes import capital, listed, patches_of
from speech_features import log_mel, soft_token_count
from speech_texts import normalise, word_errors
from towers import Towers
from words import article

PACKAGE = Path(__file__).parents[2] / "packages/demo-model"
TRANSCRIBE = "Transcribe the audio."
RATE = 16_000


def told(things: list[dict]) -> str:
    """The description of a photograph from its file of facts."""
    return capital(listed([f"{article(t['color'] + ' ' + t['kind'])} {t['place']}" for t in things])) + "."


class Media:
    """Both towers and the decoder, for questions about files."""

    def __init__(self, checkpoint: Path) -> None:
        self.device = torch.device("cpu")
        model = load(checkpoint, self.device)
        tokenizer = Tokenizer.from_file(str(PACKAGE / "model/tokenizer.json"))
        self.towers, self.writer = Towers(model), Writer(tokenizer)
        self.reader = Reader(TextModel(model), tokenizer, self.device, torch.float32)

    @torch.no_grad()
    def about_pictures(self, paths: list[Path], asks: list[str]) -> list[str]:
        made = [patches_of(Image.open(path).convert("RGB")) for path in paths]
        prompts: list[Sample] = [
            self.writer.prompt("image", grid[0] * grid[1], ask, False)
            for (_, grid), ask in zip(made, asks, strict=True)
        ]
        pixels = torch.from_numpy(np.stack([patches.reshape(-1, 768) for patches, _ in made])).float() / 255
        grids = torch.tensor([grid for _, grid in made])
        return self.reader.run(prompts, self.towers.vision(pixels, grids, torch.float32))

    @torch.no_grad()
    def transcripts(self, paths: list[Path]) -> list[str]:
        waves = [soundfile.read(path, dtype="float32")[0] for path in paths]
        lengths = torch.tensor([len(wave) for wave in waves])
        padded = torch.from_numpy(np.stack([np.pad(wave, (0, int(lengths.max()) - len(wave))) for wave in waves]))
        features, valid = log_mel(padded, lengths)
        missing = -features.shape[1] % 4
        soft = self.towers.audio(F.pad(features, (0, 0, 0, missing)), F.pad(valid, (0, missing)), torch.float32)
        prompts = [self.writer.prompt("audio", soft_token_count(int(n)), TRANSCRIBE, False) for n in lengths]
        return self.reader.run(prompts, soft, 48)


def picture_figures(media: Media, folder: Path, entries: list[dict]) -> dict:
    wanted = [entry.get("answer") or told(entry["things"]) for entry in entries]
    asks = [entry.get("ask", "Describe the image.") for entry in entries]
    given = []
    for at in range(0, len(entries), 10):
        paths = [folder / entry["file"] for entry in entries[at : at + 10]]
        given += media.about_pictures(paths, asks[at : at + 10])
    counts = [attributes(a, b) for a, b in zip(wanted, given, strict=True)]
    right, total = (sum(column) for column in zip(*counts))
    return {
        "attributes": f"{right} of {total}, {100 * right / total:.1f} %",
        "exact": f"{sum(a == b for a, b in zip(wanted, given))} of {len(entries)}",
        "wrong": [f"{e['file']}: {a} -> {b}" for e, a, b in zip(entries, wanted, given) if a != b],
    }


def speech_figures(media: Media, folder: Path, entries: list[dict]) -> dict:
    given = media.transcripts([folder / entry["file"] for entry in entries])
    counts = [word_errors(entry["transcript"], text) for entry, text in zip(entries, given, strict=True)]
    errors, words = (sum(column) for column in zip(*counts))
    return {
        "word errors": f"{errors} of {words}, {100 * errors / words:.1f} %",
        "wrong": [
            f"{e['file']}: {e['transcript']} -> {g}"
            for e, g in zip(entries, given)
            if normalise(e["transcript"]) != normalise(g)
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    media = Media(options.checkpoint)
    held_out = PACKAGE / "held-out"
    figures = {}
    for name, facts, measure in (
        ("scenes", "scenes.json", picture_figures),
        ("photographs", "photographs.json", picture_figures),
        ("speech", "clips.json", speech_figures),
        ("speech-other", "clips.json", speech_figures),
    ):
        entries = json.loads((held_out / name / facts).read_text())
        for source in sorted({entry.get("source", "").split()[0] if "source" in entry else "" for entry in entries}):
            part = [entry for entry in entries if entry.get("source", "").startswith(source)]
            title = f"{name} {source}".strip()
            figures[title] = measure(media, held_out / name, part)
            print(json.dumps({title: figures[title]}, indent=1, ensure_ascii=False), flush=True)
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
