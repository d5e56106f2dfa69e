"""Rooms, microphones and noise for clean speech, in torch, for whole batches on any device.

Training draws new ones for a clip each time it is heard; all of it depends on the generator alone.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

RATE = 16_000
ECHO_SAMPLES = 9600  # 0.6 s
EQUALISER_WAVES = 6
HUM_HARMONICS = 6


class Room:
    """Changes waves [B, N] like a random room, microphone and background, different for each row.

    `strength` scales how often anything happens: 1 in training, 0 leaves only the loudness to chance.
    """

    def __init__(self, generator: torch.Generator, strength: float = 1.0) -> None:
        self.generator, self.strength = generator, strength

    def _uniform(self, count: int, low: float, high: float) -> Tensor:
        """Column [B, 1]."""
        return torch.rand(count, 1, generator=self.generator, device=self.generator.device) * (high - low) + low

    def _noise(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator, device=self.generator.device)

    def _happens(self, count: int, probability: float) -> Tensor:
        return (self._uniform(count, 0, 1) < probability * self.strength).float()

    def echo(self, waves: Tensor) -> Tensor:
        """A synthetic impulse response: the direct sound, a few early reflections, and noise that dies away.

        The tail falls by 60 dB in 0.08 to 0.7 s and lies 0 to 18 dB below the direct sound.
        """
        count, samples = waves.shape
        time = torch.arange(ECHO_SAMPLES, device=waves.device) / RATE
        decay = torch.exp(-math.log(1000) * time / self._uniform(count, 0.08, 0.7))
        tail = self._noise(count, ECHO_SAMPLES) * decay
        tail = F.avg_pool1d(tail[:, None], 3, 1, 1)[:, 0]
        # Early reflections arrive within 40 ms, at random times.
        early = (torch.rand(tail.shape, generator=self.generator, device=waves.device) < 0.008) & (time < 0.04)
        tail = tail * (time > 0.004) + early * self._noise(count, ECHO_SAMPLES) * decay * 3
        tail = tail / tail.square().sum(-1, keepdim=True).clamp_min(1e-9).sqrt()
        tail = tail * 10 ** (self._uniform(count, -18, 0) / 20) * self._happens(count, 0.4)
        size = samples + ECHO_SAMPLES
        return waves + torch.fft.irfft(torch.fft.rfft(waves, size) * torch.fft.rfft(tail, size), size)[:, :samples]

    def microphone(self, waves: Tensor) -> Tensor:
        """A smooth random curve over frequency (a few dB up and down, tilted), and sometimes a narrow band."""
        count, samples = waves.shape
        hertz = torch.linspace(0, RATE / 2, samples // 2 + 1, device=waves.device)
        octave = torch.log2(hertz.clamp_min(50) / 50) / math.log2(RATE / 2 / 50)
        decibel = self._uniform(count, -10, 10) * (octave - 0.5)
        for wave in range(1, EQUALISER_WAVES + 1):
            phase = self._uniform(count, 0, 2 * math.pi)
            decibel = decibel + self._uniform(count, 0, 4 / math.sqrt(wave)) * torch.cos(
                math.pi * wave * octave + phase
            )
        decibel = decibel * self._happens(count, 0.6)
        low = self._uniform(count, 60, 350) * self._happens(count, 0.3)
        high = RATE / 2 - (RATE / 2 - self._uniform(count, 3200, 7500)) * self._happens(count, 0.3)
        # Both edges fall by 24 dB per octave.
        band = 1 / (1 + (low / hertz.clamp_min(1)) ** 4) / (1 + (hertz / high) ** 16)
        spectrum = torch.fft.rfft(waves) * (10 ** (decibel / 20) * band)
        return torch.fft.irfft(spectrum, samples)

    def background(self, waves: Tensor, lengths: Tensor) -> Tensor:
        """White to brown noise, mains hum, or a distant voice (another row of the batch)."""
        count, samples = waves.shape
        hertz = torch.linspace(0, RATE / 2, samples // 2 + 1, device=waves.device)
        colour = self._uniform(count, 0, 1.2)
        noise = torch.fft.irfft(
            torch.fft.rfft(self._noise(count, samples)) * (hertz.clamp_min(40) / 1000) ** -colour, samples
        )
        time = torch.arange(samples, device=waves.device) / RATE
        mains = torch.where(self._uniform(count, 0, 1) < 0.5, 50.0, 60.0)
        hum = torch.zeros_like(waves)
        for harmonic in range(1, HUM_HARMONICS + 1):
            phase = self._uniform(count, 0, 2 * math.pi)
            hum = hum + self._uniform(count, 0, 1) * torch.sin(2 * math.pi * mains * harmonic * time + phase)
        voice = waves.roll((1, samples // 3), (0, 1))
        speech, everywhere = _loudness(waves, lengths), torch.full_like(lengths, samples)
        # Each with its probability and its level below the speech in dB.
        sounds = (
            (noise, _loudness(noise, everywhere), 0.6, 9, 50),
            (hum, _loudness(hum, everywhere), 0.15, 8, 40),
            (voice, speech.roll(1, 0), 0.08, 15, 40),
        )
        for sound, loudness, probability, loudest, quietest in sounds:
            distance = self._uniform(count, loudest, quietest)
            waves = waves + sound * speech / loudness * 10 ** (-distance / 20) * self._happens(count, probability)
        return waves

    def __call__(self, waves: Tensor, lengths: Tensor) -> Tensor:
        """`waves` [B, N] in [-1, 1] with lengths [B], augmented; the padding stays zero."""
        lengths = lengths.to(waves.device)
        is_real = torch.arange(waves.shape[-1], device=waves.device) < lengths[:, None]
        changed = self.background(self.microphone(self.echo(waves)), lengths) * is_real
        decibel = self._uniform(len(waves), -44, -14)
        changed = changed / _loudness(changed, lengths) * 10 ** (decibel / 20)
        # Loud samples are clipped as by a sound card, occasionally heavily.
        loud = 1 + 5 * self._happens(len(waves), 0.03) * self._uniform(len(waves), 0, 1)
        return torch.round((changed * loud).clamp(-1, 1) * 32767) / 32768


def _loudness(waves: Tensor, lengths: Tensor) -> Tensor:
    """Root mean square [B, 1] of the rows without padding, never zero."""
    return (waves.square().sum(-1, keepdim=True) / lengths[:, None]).sqrt().clamp_min(1e-6)
