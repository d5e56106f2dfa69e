"""Creates the held-out clips of `packages/demo-model/held-out/speech`: small files with unseen voices and texts.

    python3 speech_held_out.py ../../packages/demo-model/held-out/speech --bundle ESPEAK_DIR

Needs the package soundfile, too. Every held-out variant speaks three clips; a third is clean, the others are in rooms
and noise. Texts and samples are the same in every run; Ogg pages carry a random serial number.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import numpy as np
import soundfile
import torch

from corpus import seeded
from speech import level
from speech_room import Room
from speech_texts import KINDS, Line, is_held_out, spoken
from speech_voice import HELD_OUT_VARIANTS, RATE, Synthesiser, speaker

SEED = 6
CLIPS, MOST_BYTES, MOST_SECONDS = 30, 12_000, 4.2
ORDER = [0, 1, 2, 3, 4, 5, 3, 4, 2, 0, 1, 5, 6]  # kinds of texts, as indices into KINDS
FLAC, QUIET = {9, 19}, 0.25  # short, clean and quiet enough to be small without loss
OPUS_KBITS = 22


def write_opus(path: Path, sound: np.ndarray) -> None:
    """Samples [n] at 16 kHz as an Ogg Opus file."""
    # libsndfile maps 0..1 to 256..6 kbit/s.
    soundfile.write(path, sound, RATE, format="OGG", subtype="OPUS", compression_level=1 - (OPUS_KBITS - 6) / 250)


def text(index: int, attempt: int) -> tuple[Random, Line]:
    """A held-out text of the kind of clip `index`."""
    r = seeded(SEED, "clip", index, attempt)
    while True:
        made = KINDS[0 if index in FLAC else ORDER[index % len(ORDER)]](r)
        words = made.transcript.split()
        if len(words) <= (4 if index in FLAC else 12) and is_held_out(made.transcript):
            return r, made


def make_clip(voice: Synthesiser, out: Path, index: int, taken: set[str]) -> dict:
    """Writes one file and returns its entry."""
    variant = HELD_OUT_VARIANTS[index % len(HELD_OUT_VARIANTS)]
    is_clean = index in FLAC or index % 3 == 0
    for attempt in range(1000):
        r, said = text(index, attempt)
        who = replace(speaker(r, True), variant=variant)
        edges = [round(RATE * r.uniform(0.1, 0.3)) if index not in FLAC else 800 for _ in range(2)]
        sound = voice.say(spoken(said.written), who, index)
        samples = sum(edges) + len(sound)
        if said.transcript in taken or samples > (0.95 if index in FLAC else MOST_SECONDS) * RATE:
            continue
        wave = torch.zeros(1, samples)
        wave[0, edges[0] : edges[0] + len(sound)] = torch.from_numpy(level(sound))
        if index in FLAC:
            wave *= QUIET
        elif not is_clean:
            wave = Room(torch.Generator().manual_seed(1000 * index + attempt))(wave, torch.tensor([samples]))
        path = out / f"{index + 1:02}.{'flac' if index in FLAC else 'ogg'}"
        if index in FLAC:
            soundfile.write(path, wave[0].numpy(), RATE, subtype="PCM_16")
        else:
            write_opus(path, wave[0].numpy())
        if path.stat().st_size <= MOST_BYTES:
            taken.add(said.transcript)
            about = {"file": path.name, "transcript": said.transcript, "kind": said.kind, "clean": is_clean}
            return {**about, "seconds": round(samples / RATE, 2), **asdict(who)}
    raise RuntimeError(f"no text of clip {index} fits in {MOST_BYTES} bytes; allow more")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--bundle", type=Path, required=True)
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for old in [*given.out.glob("*.ogg"), *given.out.glob("*.flac")]:
        old.unlink()
    voice, taken = Synthesiser(given.bundle), set()
    clips = [make_clip(voice, given.out, index, taken) for index in range(CLIPS)]
    (given.out / "clips.json").write_text(json.dumps(clips, indent=2) + "\n")
    size = sum(path.stat().st_size for path in given.out.iterdir())
    print(f"{len(clips)} clips, {sum(clip['seconds'] for clip in clips):.1f} s, {size} bytes")


if __name__ == "__main__":
    main()
