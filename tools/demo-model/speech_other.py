"""Creates the clips of `packages/demo-model/held-out/speech-other`, spoken by another synthesiser (flite) and by people.

Of flite's voices here, training hears all but `rms`; it never hears people, and their clips tell how far it carries.

    python3 speech_other.py OUT --flite FLITE_PROGRAM --recordings /usr/share/pocketsphinx/test/data

The recordings are those of Debian's package pocketsphinx-testdata: commands and cards (Carnegie Mellon University, BSD),
and two sentences read for LibriVox (public domain). Needs the package soundfile, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import soundfile

from corpus import seeded
from speech_held_out import write_opus
from speech_texts import line, spoken
from speech_voice import RATE, resample

FLITE_VOICES = "slt rms awb kal16 slt rms awb kal16".split()
MOST_SECONDS, MOST_WORDS = 3.6, 9
RECORDINGS = {
    "goforward.raw": "go forward ten meters",
    "cards/001.wav": "ten of clubs",
    "cards/002.wav": "four queen of clubs",
    "cards/003.wav": "seven of clubs",
    "cards/004.wav": "five five",
    "cards/005.wav": "eight of spades four of clubs seven of hearts",
    "librivox/sense_and_sensibility_01_austen_64kb-0880.wav": "he was not an ill disposed young man",
    "librivox/sense_and_sensibility_01_austen_64kb-0930.wav": "he might even have been made amiable himself",
}


def flite(program: str, voice: str, text: str) -> np.ndarray:
    """Samples of a text at 16 kHz."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run([program, "-voice", voice, "-t", text, "-o", file.name], check=True)
        sound, rate = soundfile.read(file.name, dtype="float32")
    return resample(sound, RATE / rate) if rate != RATE else sound


def synthetic(program: str) -> list[tuple[np.ndarray, dict]]:
    """Different held-out texts in flite's voices."""
    clips, r = [], seeded(8, "flite")
    for voice in FLITE_VOICES:
        while True:
            said = line(r, True)
            if len(said.transcript.split()) > MOST_WORDS or said.kind in {clip["kind"] for _, clip in clips[-3:]}:
                continue
            sound = flite(program, voice, spoken(said.written))
            if len(sound) <= MOST_SECONDS * RATE:
                break
        clips.append((sound, {"transcript": said.transcript, "kind": said.kind, "source": f"flite {voice}"}))
    return clips


def recorded(folder: Path) -> list[tuple[np.ndarray, dict]]:
    clips = []
    for name, transcript in RECORDINGS.items():
        raw = {"format": "RAW", "subtype": "PCM_16", "channels": 1, "samplerate": RATE} if name.endswith("raw") else {}
        sound, rate = soundfile.read(folder / name, dtype="float32", **raw)
        sound = resample(sound, RATE / rate) if rate != RATE else sound
        clips.append((sound, {"transcript": transcript, "kind": "recorded", "source": f"pocketsphinx-testdata {name}"}))
    return clips


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--flite", required=True)
    options.add_argument("--recordings", type=Path, required=True)
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for old in given.out.glob("*.ogg"):
        old.unlink()
    entries = []
    for number, (sound, about) in enumerate(synthetic(given.flite) + recorded(given.recordings), 1):
        path = given.out / f"{number:02}.ogg"
        write_opus(path, sound)
        entries.append({"file": path.name, **about, "seconds": round(len(sound) / RATE, 2)})
    (given.out / "clips.json").write_text(json.dumps(entries, indent=2) + "\n")
    size = sum(path.stat().st_size for path in given.out.iterdir())
    print(f"{len(entries)} clips, {sum(entry['seconds'] for entry in entries):.1f} s, {size} bytes")


if __name__ == "__main__":
    main()
