"""Creates sets of clips that tell how far the model's hearing carries: sentences that training never used, mostly in voices that it
never used either.

    python3 speech_check.py OUT --bundle BUNDLE_DIR --clips 60
    node measure-media.mjs ../../packages/demo-model/model OUT fast SET …

| set | voices | met in training | sentences |
|---|---|---|---|
| `default` | espeak-ng's own voice without a variant, at four rates | variants only | held out |
| `held-out` | held-out variants of espeak-ng, spoken as in training | no | held out |
| `wide` | the same at 90 to 300 words a minute and any pitch | no | held out |
| `rms` | flite's rms, at four rates | no | held out |
| `noise` | held-out variants and rms, with babble, chords or clicks 10 to 20 dB below the speech | neither voices nor noises | held out |
| `rooms` | held-out variants and rms, in a box by the method of images; one in two with a telephone's band | neither | held out |
| `flite` | flite's slt, awb, kal16 and kal | yes | held out |
| `festival` | festival's voices | yes | held out |

Needs numpy, the package soundfile, and the bundle of `speech_bundle.sh --all`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import soundfile

from corpus import seeded
from speech import level
from speech_festival import Festival
from speech_flite import HELD_OUT_VOICES, VOICES, Flite, FliteSpeaker
from speech_texts import line, spoken
from speech_voice import RATE, Speaker, Synthesiser, speaker, wide_speaker

SEED = 77
SETS = "default held-out wide rms noise rooms flite festival".split()
STRETCHES = (1.0, 0.9, 1.1, 1.2)
MOST_SECONDS, MOST_WORDS, SILENCE = 5.5, 10, 2000
SOUND = 343.0  # metres per second


class Voices:
    """All synthesisers of the bundle."""

    def __init__(self, bundle: Path) -> None:
        self.espeak, self.flite, self.festival = Synthesiser(bundle), Flite(bundle), Festival(bundle)

    def unmet(self, text: str, r: Random, index: int) -> np.ndarray:
        """Samples of a text in a voice that training never used: a variant of espeak-ng or flite's rms in turn."""
        if index % 2:
            return self.espeak.say(text, speaker(r, True), index)
        return self.flite.say(text, FliteSpeaker(*HELD_OUT_VOICES, STRETCHES[index // 2 % 4], 0, 0, 1))

    def say(self, kind: str, text: str, r: Random, index: int) -> np.ndarray:
        """Samples of a text in a voice of the set `kind`."""
        stretch = STRETCHES[index % 4]
        if kind == "default":
            accent, speed = ("en", "en-us", "en-gb-x-rp")[index % 3], (130, 160, 175, 190)[index % 4]
            return self.espeak.say(text, Speaker(accent, "", speed, 50, 50, 0, 1), index)
        if kind == "rms":
            return self.flite.say(text, FliteSpeaker(*HELD_OUT_VOICES, stretch, 0, 0, 1))
        if kind == "flite":
            return self.flite.say(text, FliteSpeaker(list(VOICES)[index // 4 % len(VOICES)], stretch, 0, 0, 1))
        if kind == "festival":
            return self.festival.say(text, Festival.speaker(r, True))
        if kind == "noise":
            return self.noise(self.unmet(text, r, index), r, index)
        if kind == "rooms":
            return room(self.unmet(text, r, index), r, index % 4 < 2)
        return self.espeak.say(text, (wide_speaker if kind == "wide" else speaker)(r, True), index)

    def noise(self, sound: np.ndarray, r: Random, index: int) -> np.ndarray:
        """`sound` with a noise of a kind that training has not: four voices at once, chords of an organ, or clicks."""
        kind, size = index % 3, len(sound)
        time = np.arange(size) / RATE
        other = np.zeros(size)
        if kind == 0:
            for i in range(4):
                voice = self.espeak.say(spoken(line(r, True).written), speaker(r, True), index + i)
                other += np.resize(level(voice), size)
        elif kind == 1:
            for start in range(0, size, RATE // 2):
                part = slice(start, start + RATE // 2)
                for step in (0, 4, 7, 12):
                    pitch = 110 * 2 ** ((r.randint(0, 12) + step) / 12)
                    other[part] += sum(np.sin(2 * np.pi * pitch * n * time[part]) / n for n in range(1, 6))
        else:
            for _ in range(max(1, size // 1500)):
                at = r.randrange(size)
                burst = np.exp(-np.arange(min(160, size - at)) / r.uniform(5, 40)) * r.choice((-1, 1))
                other[at : at + len(burst)] += burst * np.cos(np.arange(len(burst)) * r.uniform(0.2, 1.5))
        loudness = np.sqrt(np.square(sound).mean()) / (np.sqrt(np.square(other).mean()) + 1e-9)
        return (sound + other * loudness * 10 ** (-r.uniform(10, 20) / 20)).astype(np.float32)


def room(sound: np.ndarray, r: Random, is_narrow: bool) -> np.ndarray:
    """`sound` in a room of six flat walls, by the method of images; `is_narrow`: through a telephone's band, 300 to 3400 Hz."""
    size = np.array([r.uniform(3, 7), r.uniform(2.5, 5), r.uniform(2.3, 3.2)])
    source, ear = (np.array([r.uniform(0.15, 0.85) for _ in range(3)]) * size for _ in range(2))
    kept = r.uniform(0.6, 0.85)  # of the amplitude, at each wall
    echo = np.zeros(RATE // 2)
    counts = np.stack(np.meshgrid(*[np.arange(-6, 7)] * 3, indexing="ij"), -1).reshape(-1, 3)
    for mirrored in np.ndindex(2, 2, 2):
        places = (1 - 2 * np.array(mirrored)) * source + 2 * counts * size
        distance = np.maximum(np.linalg.norm(places - ear, axis=1), 0.3)
        bounces = np.abs(2 * counts - mirrored).sum(1)
        at = np.rint(distance / SOUND * RATE).astype(int)
        is_heard = at < len(echo)
        np.add.at(echo, at[is_heard], (kept**bounces / distance)[is_heard])
    count = len(sound) + len(echo)
    spectrum = np.fft.rfft(sound, count) * np.fft.rfft(echo, count)
    if is_narrow:
        hertz = np.fft.rfftfreq(count, 1 / RATE)
        spectrum *= (hertz > 300) & (hertz < 3400)
    return np.fft.irfft(spectrum, count)[: len(sound) + RATE // 5].astype(np.float32)


def make(kind: str, out: Path, voices: Voices, clips: int) -> None:
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
        sound = voices.say(kind, spoken(said.written), r, index)
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
    voices = Voices(given.bundle)
    for kind in SETS:
        make(kind, given.out / kind, voices, given.clips)


if __name__ == "__main__":
    main()
