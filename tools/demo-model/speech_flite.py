"""flite as a library, in this process: the voices of another synthesiser, with other rates, pitches and heads.

The bundle is the folder that `speech_bundle.sh` makes. `rms` is held out: training never hears this voice.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from speech_voice import RATE, resample

# Mean pitch in Hz, which a speaker's pitch multiplies.
VOICES = {"slt": 172.0, "awb": 128.0, "kal16": 95.0, "kal": 95.0}
HELD_OUT_VOICES = {"rms": 102.0}
LIBRARIES = ("libasound.so.2", "libflite.so.1", "libflite_usenglish.so.1", "libflite_cmulex.so.1")


@dataclass(frozen=True)
class FliteSpeaker:
    """The voice of a text. `stretch` multiplies durations; `pitch` is in Hz, with deviation `pitch_range`, or both are 0 for the
    voice's own; `size` as in `speech_voice.Speaker`."""

    voice: str
    stretch: float
    pitch: float
    pitch_range: float
    size: float


class _Wave(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_char_p),
        ("rate", ctypes.c_int),
        ("count", ctypes.c_int),
        ("channels", ctypes.c_int),
        ("samples", ctypes.POINTER(ctypes.c_short)),
    ]


class _Voice(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("features", ctypes.c_void_p)]


class Flite:
    """flite from the bundle's folder."""

    def __init__(self, bundle: Path) -> None:
        loaded = [ctypes.CDLL(str(bundle / "flite" / name), mode=ctypes.RTLD_GLOBAL) for name in LIBRARIES]
        self._flite = loaded[1]
        self._flite.flite_init()
        self._flite.flite_text_to_wave.restype = ctypes.POINTER(_Wave)
        self._flite.flite_text_to_wave.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        self._flite.delete_wave.argtypes = [ctypes.c_void_p]
        self._flite.feat_set_float.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_float]
        self._flite.feat_remove.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self._folder = bundle / "flite"
        self._voices: dict[str, ctypes.c_void_p] = {}

    @staticmethod
    def speaker(r: Random, held_out: bool) -> FliteSpeaker:
        """A random speaker; a third are the voices as they are, at different rates."""
        voices = HELD_OUT_VOICES if held_out else VOICES
        voice, stretch = r.choice(list(voices)), round(r.triangular(0.75, 1.35, 1.0), 3)
        if r.random() < 0.33:
            return FliteSpeaker(voice, stretch, 0, 0, 1)
        pitch = voices[voice] * r.triangular(0.72, 1.45, 1.0)
        return FliteSpeaker(voice, stretch, round(pitch, 1), round(r.uniform(8, 32), 1), r.triangular(0.86, 1.14, 1.0))

    def _voice(self, name: str) -> ctypes.c_void_p:
        if name not in self._voices:
            library = ctypes.CDLL(str(self._folder / f"libflite_cmu_us_{name}.so.1"))
            register = getattr(library, f"register_cmu_us_{name}")
            register.restype = ctypes.c_void_p
            self._voices[name] = register(None)
        return self._voices[name]

    def say(self, text: str, how: FliteSpeaker, _seed: int = 0) -> np.ndarray:
        """Samples [n] float32 in [-1, 1] at 16 kHz."""
        voice = self._voice(how.voice)
        features = ctypes.cast(voice, ctypes.POINTER(_Voice)).contents.features
        self._flite.feat_set_float(features, b"duration_stretch", how.stretch)
        for name, value in ((b"int_f0_target_mean", how.pitch), (b"int_f0_target_stddev", how.pitch_range)):
            if value:
                self._flite.feat_set_float(features, name, value)
            else:
                self._flite.feat_remove(features, name)
        wave = self._flite.flite_text_to_wave(text.encode(), voice)
        samples = np.ctypeslib.as_array(wave.contents.samples, (wave.contents.count,)).astype(np.float32) / 32768
        rate = wave.contents.rate
        self._flite.delete_wave(wave)
        return resample(samples, RATE / (rate * how.size))
