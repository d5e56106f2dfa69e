"""Creates sets of clips that tell how far the model's hearing carries: voices and sentences that training never used.

    python3 speech_check.py OUT --bundle ESPEAK_DIR --clips 60
    node measure-media.mjs ../../packages/demo-model/model OUT fast default held-out wide flite

`default`: espeak-ng's own voice, without a variant, at four rates; `held-out`: the held-out variants, spoken as in training; `wide`: the
same at 90 to 300 words a minute and any pitch; `flite`: the five voices of another synthesiser. Needs numpy, the package soundfile, and
the programs espeak-ng and flite.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import soundfile

from corpus import seeded
from speech import level
from speech_texts import line, spoken
from speech_voice import RATE, Synthesiser, resample, speaker

SEED = 77
SETS = "default held-out wide flite".split()
FLITE_VOICES = "slt rms awb kal16 kal".split()
MOST_SECONDS, MOST_WORDS, SILENCE = 5.5, 10, 2000


def program(*command: str) -> np.ndarray:
    """Samples at 16 kHz of a program that writes a WAV file; `FILE` stands for its name."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run([file.name if part == "FILE" else part for part in command], check=True)
        sound, rate = soundfile.read(file.name, dtype="float32")
    return resample(sound, RATE / rate) if rate != RATE else sound


def say(kind: str, text: str, voice: Synthesiser, r: Random, index: int) -> np.ndarray:
    """Samples of a text in a voice of the set `kind`."""
    if kind == "flite":
        return program("flite", "-voice", FLITE_VOICES[index % len(FLITE_VOICES)], "-t", text, "-o", "FILE")
    if kind == "default":
        accent, speed = ("en", "en-us", "en-gb")[index % 3], (130, 160, 175, 190)[index % 4]
        return program("espeak-ng", "-v", accent, "-s", str(speed), "-w", "FILE", text)
    who = speaker(r, True)
    if kind == "wide":
        who = replace(who, words_per_minute=round(r.uniform(90, 300)), pitch=round(r.uniform(5, 95)))
    return voice.say(text, who, index)


def make(kind: str, out: Path, voice: Synthesiser, clips: int) -> None:
    """Writes a set of clips."""
    out.mkdir(parents=True, exist_ok=True)
    entries: list[dict] = []
    index = 0
    while len(entries) < clips:
        r = seeded(SEED, kind, index)
        index += 1
        said = line(r, True)
        if len(said.transcript.split()) > MOST_WORDS:
            continue
        sound = say(kind, spoken(said.written), voice, r, index)
        if len(sound) > MOST_SECONDS * RATE:
            continue
        silence = np.zeros(SILENCE, np.float32)
        name = f"{len(entries) + 1:03}.wav"
        soundfile.write(out / name, np.concatenate([silence, level(sound), silence]), RATE, subtype="PCM_16")
        entries.append({"file": name, "transcript": said.transcript, "kind": said.kind})
    (out / "clips.json").write_text(json.dumps(entries, indent=2) + "\n")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--clips", type=int, default=60)
    given = options.parse_args()
    voice = Synthesiser(given.bundle)
    for kind in SETS:
        make(kind, given.out / kind, voice, given.clips)


if __name__ == "__main__":
    main()
