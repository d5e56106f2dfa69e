"""espeak-ng as a library, in this process: text in, samples out, without starting a program for each clip.

The bundle is the folder that `speech_bundle.sh` makes. One process has one synthesiser; its state lives in the library.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np

RATE = 16_000
ACCENTS = "en en-us en-us en-gb-x-rp en-gb-scotland en-gb-x-gbclan en-gb-x-gbcwmd en-us-nyc en-029".split()
# Speaker variants: formants, breath and tone. Robots, whispers and caricatures are excluded.
VARIANTS = (
    "m1 m2 m3 m5 m6 m7 m8 f1 f2 f3 f5 Alex Alicia Andy Annie Denis Diogo Gene Gene2 Henrique Hugo Jacky Lee Mario Michael "
    "Mike adam anika antonio benjamin boris david ed edward gustave iven iven2 iven3 john klatt klatt2 klatt3 linda marcelo "
    "max michel norbert paul pedro quincy rob robert steph steph2 steph3 travis victor"
).split()
HELD_OUT_VARIANTS = "m4 f4 Andrea Marco belinda caleb miguel sandro shelby zac".split()

_SYNCHRONOUS, _UTF8, _CHARACTERS = 2, 1, 1
_SPEED, _VOLUME, _PITCH, _RANGE, _GAP = 1, 2, 3, 4, 7


@dataclass(frozen=True)
class Speaker:
    """The voice of a text; without a variant, the accent's own. Pitch and range are espeak's 0 to 99, `gap` is a pause after words in
    10 ms, and `size` stretches
    the spectrum (and time by its inverse): a head of another size."""

    accent: str
    variant: str
    words_per_minute: int
    pitch: int
    pitch_range: int
    gap: int
    size: float


def speaker(r: Random, held_out: bool) -> Speaker:
    """A random speaker; held-out speakers have variants that are not used in training."""
    return Speaker(
        accent=r.choice(ACCENTS),
        variant=r.choice(HELD_OUT_VARIANTS if held_out else VARIANTS),
        words_per_minute=round(r.triangular(120, 220, 160)),
        pitch=round(r.triangular(15, 85, 50)),
        pitch_range=round(r.triangular(20, 90, 50)),
        gap=r.choice((0, 0, 0, 0, 0, 1, 2, 4)),
        size=r.triangular(0.91, 1.09, 1.0),
    )


def wide_speaker(r: Random, held_out: bool) -> Speaker:
    """A random speaker as fast and as high as espeak-ng allows without becoming hard to understand."""
    who = speaker(r, held_out)
    return replace(who, words_per_minute=round(r.uniform(90, 300)), pitch=round(r.uniform(5, 95)))


class Synthesiser:
    """espeak-ng from the bundle's folder."""

    speaker = staticmethod(speaker)

    def __init__(self, bundle: Path) -> None:
        # The library looks up these two by name; if loaded first, they are found without LD_LIBRARY_PATH.
        for name in ("libpcaudio.so.0", "libsonic.so.0"):
            ctypes.CDLL(str(bundle / name), mode=ctypes.RTLD_GLOBAL)
        self._espeak = ctypes.CDLL(str(bundle / "libespeak-ng.so.1"))
        self._libc = ctypes.CDLL(None)
        self._pieces: list[bytes] = []
        callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
        self._callback = callback(self._receive)
        self.rate: int = self._espeak.espeak_Initialize(_SYNCHRONOUS, 0, str(bundle).encode(), 0)
        if self.rate <= 0:
            raise RuntimeError(f"{bundle}: expected espeak-ng's data here, got error {self.rate}; run speech_bundle.sh")
        self._espeak.espeak_SetSynthCallback(self._callback)

    def _receive(self, samples: int | None, count: int, _events: int) -> int:
        if samples and count > 0:
            self._pieces.append(ctypes.string_at(samples, 2 * count))
        return 0

    def say(self, text: str, how: Speaker, seed: int) -> np.ndarray:
        """Samples [n] float32 in [-1, 1] at 16 kHz. The noise in the voice depends on `seed`."""
        self._libc.srand(seed & 0x7FFFFFFF)
        voice = f"{how.accent}+{how.variant}" if how.variant else how.accent
        if self._espeak.espeak_SetVoiceByName(voice.encode()) != 0:
            raise RuntimeError(f"espeak-ng has no voice {voice}")
        for parameter, value in (
            (_SPEED, how.words_per_minute),
            (_VOLUME, 45),
            (_PITCH, how.pitch),
            (_RANGE, how.pitch_range),
            (_GAP, how.gap),
        ):
            self._espeak.espeak_SetParameter(parameter, value, 0)
        self._pieces.clear()
        data = text.encode() + b"\0"
        self._espeak.espeak_Synth(data, len(data), 0, _CHARACTERS, 0, _UTF8, None, None)
        sound = np.frombuffer(b"".join(self._pieces), np.int16).astype(np.float32) / 32768
        return resample(sound, RATE / (self.rate * how.size))


class WideSynthesiser(Synthesiser):
    """espeak-ng with speakers of `wide_speaker`."""

    speaker = staticmethod(wide_speaker)


def resample(sound: np.ndarray, ratio: float) -> np.ndarray:
    """`sound` at `ratio` times the rate: the spectrum of the whole clip, cut or padded."""
    # Multiples of 2048 keep the transform fast; the second length is the first times the ratio.
    before = -(-(len(sound) + 512) // 2048) * 2048
    after = 2 * round(before * ratio / 2)
    spectrum = np.fft.rfft(sound, before)
    changed = np.zeros(after // 2 + 1, spectrum.dtype)
    common = min(len(changed), len(spectrum)) - 1
    changed[:common] = spectrum[:common]
    return np.fft.irfft(changed, after)[: round(len(sound) * ratio)].astype(np.float32) * np.float32(after / before)
