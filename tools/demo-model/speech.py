"""Creates clips of synthetic speech with their texts, without reverberation or noise, which `speech_room.py` adds during training.

Clip by clip the text (speech_texts.py), the speaker (speech_voice.py) and the silence around it are drawn. A shard of clips
depends on the seed and its number alone, whatever the number of processes.

    python3 speech.py OUT_DIR --bundle BUNDLE_DIR --clips 80000 [--synthesiser flite]

writes `part-NNN.i16` (samples of the clips, int16 at 16 kHz, one after the other), `clips.npy` (start in all parts together
and length of each clip) and `texts.json`; `load` reads them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from corpus import seeded
from speech_festival import Festival
from speech_flite import Flite
from speech_texts import line, spoken
from speech_voice import RATE, Synthesiser, WideSynthesiser

SHARD = 100
SYNTHESISERS = {"espeak": Synthesiser, "espeak-wide": WideSynthesiser, "flite": Flite, "festival": Festival}
LEVEL = 0.06  # root mean square of the louder half of a clip


@dataclass
class Clips:
    """Clips in memory: `audio` [samples] int16, `starts` and `lengths` [clips] int64, and a dictionary for each clip."""

    audio: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    texts: list[dict]

    def samples(self, index: int) -> np.ndarray:
        """Samples of one clip, int16."""
        start = self.starts[index]
        return self.audio[start : start + self.lengths[index]]


def level(sound: np.ndarray) -> np.ndarray:
    """`sound` with the same loudness for every voice, without clipping."""
    power = np.sort(np.square(sound[: len(sound) // 160 * 160]).reshape(-1, 160).mean(1))
    loud = float(np.sqrt(power[len(power) // 2 :].mean())) + 1e-6
    return sound * min(LEVEL / loud, 0.95 / (float(np.abs(sound).max()) + 1e-6))


def make_clip(
    voice: Synthesiser | Flite | Festival, seed: int, index: int, held_out: bool, seconds: float
) -> tuple[np.ndarray, dict]:
    """Clip number `index` of a split, at most `seconds` long, int16, and its metadata."""
    for attempt in range(1000):
        r = seeded(seed, "speech", index, held_out, attempt)
        said, who = line(r, held_out), voice.speaker(r, held_out)
        before, after = (round(RATE * r.triangular(0.02, 0.6, 0.1)) for _ in range(2))
        sound = voice.say(spoken(said.written), who, index)
        if 1600 < len(sound) <= seconds * RATE - before - after:
            break
    else:
        raise RuntimeError(f"no text of clip {index} is shorter than {seconds} s; allow more seconds")
    clip = np.zeros(before + len(sound) + after, np.int16)
    clip[before : before + len(sound)] = np.rint(level(sound) * 32767)
    return clip, {**asdict(said), "transcript": said.transcript, **asdict(who)}


def make_shard(task: tuple[Path, Path, str, int, int, int, int, bool, float]) -> tuple[np.ndarray, list[dict]]:
    """Writes the samples of shard `number` and returns lengths and texts of its clips."""
    out, bundle, synthesiser, number, first, last, seed, held_out, seconds = task
    voice = SYNTHESISERS[synthesiser](bundle)
    made = [make_clip(voice, seed, index, held_out, seconds) for index in range(first, last)]
    np.concatenate([clip for clip, _ in made]).tofile(out / f"part-{number:04}.i16")
    return np.array([len(clip) for clip, _ in made]), [text for _, text in made]


def make(
    out: Path,
    bundle: Path,
    clips: int,
    seed: int,
    processes: int = 16,
    held_out: bool = False,
    seconds: float = 6.0,
    synthesiser: str = "espeak",
) -> None:
    """Writes `clips` clips to the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("part-*.i16"):
        old.unlink()
    tasks = [
        (out, bundle, synthesiser, number, first, min(first + SHARD, clips), seed, held_out, seconds)
        for number, first in enumerate(range(0, clips, SHARD))
    ]
    # One process per shard: the synthesiser then starts in a fresh state, so a shard's samples depend on nothing else.
    with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        done = pool.map(make_shard, tasks, chunksize=1)
    lengths = np.concatenate([part for part, _ in done])
    np.save(out / "clips.npy", np.stack([np.cumsum(lengths) - lengths, lengths]))
    (out / "texts.json").write_text(json.dumps([text for _, texts in done for text in texts]))


def load(folder: Path) -> Clips:
    """The clips that `make` wrote."""
    starts, lengths = np.load(folder / "clips.npy")
    audio = np.empty(int(lengths.sum()), np.int16)
    at = 0
    for part in sorted(folder.glob("part-*.i16")):
        count = part.stat().st_size // 2
        with part.open("rb") as file:
            file.readinto(memoryview(audio[at : at + count]))
        at += count
    return Clips(audio, starts, lengths, json.loads((folder / "texts.json").read_text()))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--clips", type=int, default=80_000)
    options.add_argument("--seed", type=int, default=20261129)
    options.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    options.add_argument("--held-out", action="store_true")
    options.add_argument("--seconds", type=float, default=6.0)
    options.add_argument("--synthesiser", choices=SYNTHESISERS, default="espeak")
    given = options.parse_args()
    began = time.time()
    sizes = (given.clips, given.seed, given.processes)
    make(given.out, given.bundle, *sizes, given.held_out, given.seconds, given.synthesiser)
    clips = load(given.out)
    hours, took = len(clips.audio) / RATE / 3600, time.time() - began
    print(f"{given.clips} clips, {hours:.2f} h, {took:.1f} s: {given.clips / took:.0f} clips/s")


if __name__ == "__main__":
    main()
