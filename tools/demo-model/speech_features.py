"""Log-mel features of Gemma 4's audio tower in torch, for whole batches on any device.

`test_speech.py` compares them with the reference features of the repository's fixtures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

RATE, FRAME, STEP, FFT, MELS, FLOOR = 16_000, 320, 160, 512, 128, 0.001
PAD_MULTIPLE = 128
# Frames are cut one sample longer than they are used, so the last one begins one sample earlier.
CUT = FRAME + 1


@lru_cache
def mel_filters(device: torch.device) -> Tensor:
    """Triangles [257, 128] between points that are equidistant on the HTK scale from 0 to 8 kHz, not normalised."""
    top = 2595 * math.log10(1 + RATE / 2 / 700)
    mels = torch.linspace(0, top, MELS + 2, dtype=torch.float64)
    points = 700 * (10 ** (mels / 2595) - 1)
    bins = torch.arange(FFT // 2 + 1, dtype=torch.float64) * RATE / FFT
    left, centre, right = points[:-2], points[1:-1], points[2:]
    rising = (bins[:, None] - left) / (centre - left)
    falling = (right - bins[:, None]) / (right - centre)
    return torch.minimum(rising, falling).clamp_min(0).float().to(device)


@lru_cache
def window(device: torch.device) -> Tensor:
    """Periodic Hann window [320]."""
    return torch.hann_window(FRAME, periodic=True, dtype=torch.float64).float().to(device)


def frame_count(samples: int) -> int:
    """Frames of `samples` samples, valid or not."""
    padded = -(-samples // PAD_MULTIPLE) * PAD_MULTIPLE
    return max(0, (padded + STEP - CUT) // STEP + 1)


def valid_frame_count(samples: int) -> int:
    """Frames whose last sample is real; only these reach the model."""
    return min(frame_count(samples), max(0, (samples + STEP - FRAME - 1) // STEP + 1))


def soft_token_count(samples: int) -> int:
    """Number of soft tokens, and so of placeholders in the prompt, of a clip."""
    return min(750, -(-valid_frame_count(samples) // 4))


def log_mel(
    waves: Tensor, lengths: Tensor, change: Callable[[Tensor], Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Features [B, frames, 128] float32 and their validity [B, frames] of `waves` [B, N] in [-1, 1].

        log(|rfft(frame · hann, 512)| · mel + 0.001)

    Row b has lengths[b] real samples and zeros behind them. Features of invalid frames are zero. Frames are those of the
    longest clip the batch could hold, N samples; a row alone has the same valid ones. `change` is applied to the
    magnitudes [B, frames, 257].
    """
    samples = waves.shape[-1]
    waves = F.pad(waves.float(), (STEP, -samples % PAD_MULTIPLE))
    frames = waves.unfold(-1, CUT, STEP)[..., :-1]
    magnitudes = torch.fft.rfft(frames * window(waves.device), FFT).abs()
    if change is not None:
        magnitudes = change(magnitudes)
    features = torch.log(magnitudes @ mel_filters(waves.device) + FLOOR)
    last = torch.arange(frames.shape[1], device=waves.device) * STEP + FRAME
    valid = last < (STEP + lengths.to(waves.device))[:, None]
    return features * valid[..., None], valid


def gather(audio: Tensor, starts: Tensor, lengths: Tensor, samples: int) -> Tensor:
    """Clips [B, samples] float32 in [-1, 1] from one long int16 tensor, padded with zeros; all on one device."""
    at = torch.arange(samples, device=audio.device)
    index = (starts[:, None] + at).clamp_max(len(audio) - 1)
    return audio[index].float().div_(32768) * (at < lengths[:, None])
