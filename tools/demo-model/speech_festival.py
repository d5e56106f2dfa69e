"""festival in one process that stays: two diphone voices and a statistical one, with other rates, pitches and heads.

The bundle is the folder that `speech_bundle.sh` makes. None of these voices is held out; the sentences are.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import wave
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from speech_voice import RATE, resample

VOICES = "ked_diphone kal_diphone cmu_us_slt_arctic_hts cmu_us_slt_arctic_hts ked_diphone".split()
SAY = """
(define (say_hts file stretch pitch alpha)
  (set! hts_engine_params (append cmu_us_slt_arctic_hts::hts_engine_params
    (list (list "-r" stretch) (list "-fm" pitch) (list "-a" alpha))))
  (say file))
(define (say_diphone file stretch pitch range)
  (Parameter.set 'Duration_Stretch stretch)
  (set! int_lr_params (list (list 'target_f0_mean pitch) (list 'target_f0_std range)
    '(model_f0_mean 170) '(model_f0_std 34)))
  (say file))
(define (say file)
  (let ((made (eval (list 'Utterance 'Text text))))
    (utt.synth made)
    (utt.save.wave made file 'riff)))
"""


@dataclass(frozen=True)
class FestivalSpeaker:
    """The voice of a text. `stretch` multiplies durations; `size` as in `speech_voice.Speaker`. For a diphone voice, `pitch` and
    `range` are in Hz; for the statistical one, they are half tones and the warp of its spectrum."""

    voice: str
    stretch: float
    pitch: float
    range: float
    size: float


class Festival:
    """festival from the bundle's folder."""

    def __init__(self, bundle: Path) -> None:
        folder = (bundle / "festival").resolve()
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [str(folder / "festival"), "--pipe"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"LD_LIBRARY_PATH": str(folder), "HOME": self._folder.name, "PATH": os.defpath},
            text=True,
        )
        self._voice = ""
        self._send(SAY)

    @staticmethod
    def speaker(r: Random, _held_out: bool) -> FestivalSpeaker:
        """A random speaker; a third are the voices as they are, at different rates."""
        voice, stretch, own = r.choice(VOICES), round(r.triangular(0.75, 1.35, 1.0), 3), r.random() < 0.33
        is_hts = voice.endswith("hts")
        if own:
            return FestivalSpeaker(voice, stretch, 0 if is_hts else 105, 0.55 if is_hts else 15, 1)
        pitch = r.triangular(-5, 5, 0) if is_hts else 105 * r.triangular(0.72, 1.5, 1.0)
        spread = r.uniform(0.48, 0.62) if is_hts else r.uniform(8, 30)
        return FestivalSpeaker(voice, stretch, round(pitch, 2), round(spread, 3), r.triangular(0.88, 1.12, 1.0))

    def _send(self, command: str) -> None:
        """Runs a command and waits for its end."""
        self._process.stdin.write(command + '\n(format t "\\ndone\\n")(fflush nil)\n')
        self._process.stdin.flush()
        while (line := self._process.stdout.readline()).strip() != "done":
            if not line:
                raise RuntimeError(f"festival ended; last command: {command}")

    def say(self, text: str, how: FestivalSpeaker, _seed: int = 0) -> np.ndarray:
        """Samples [n] float32 in [-1, 1] at 16 kHz."""
        if how.voice != self._voice:
            self._send(f"(voice_{how.voice})")
            self._voice = how.voice
        file = Path(self._folder.name) / "said.wav"
        file.unlink(missing_ok=True)
        plain = re.sub(r'[\\"]', "", text)
        form, stretch = ("say_hts", 1 / how.stretch) if how.voice.endswith("hts") else ("say_diphone", how.stretch)
        self._send(f'(set! text "{plain}")\n({form} "{file}" {stretch:.3f} {how.pitch} {how.range})')
        if not file.exists():
            return np.zeros(0, np.float32)
        with wave.open(str(file)) as said:
            rate = said.getframerate()
            samples = np.frombuffer(said.readframes(said.getnframes()), "<i2").astype(np.float32) / 32768
        return resample(samples, RATE / (rate * how.size))
