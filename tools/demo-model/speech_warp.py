"""Other heads and tempi for clips in torch, for whole batches on any device: each use of a clip is another speaker.

Two ways of changing a voice. `change_speed` plays samples faster or slower, so that pitch, formants and tempo change together.
`warp` moves the frequencies of a spectrum alone, so that pitch and formants change and the tempo does not.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

FASTEST, SLOWEST = 1.14, 0.88
WIDEST, NARROWEST = 1.2, 0.84


def new_lengths(r: np.random.Generator, lengths: np.ndarray, samples: int, probability: float = 0.5) -> np.ndarray:
    """Lengths [B] of clips after `change_speed`; a share `probability` changes, none grows beyond `samples`."""
    factor = r.triangular(SLOWEST, 1, FASTEST, len(lengths))
    factor = np.where(r.random(len(lengths)) < probability, factor, 1)
    return np.minimum(np.rint(lengths / factor).astype(np.int64), samples)


def change_speed(audio: Tensor, starts: Tensor, lengths: Tensor, changed: Tensor, samples: int) -> Tensor:
    """Clips [B, samples] in [-1, 1] of one long int16 tensor, played so that they have the lengths `changed` [B].

    Samples between samples come from a cubic polynomial; all tensors are on one device.
    """
    at = torch.arange(samples, device=audio.device)
    exact = at * (lengths.float() / changed)[:, None]
    whole = exact.floor()
    t = exact - whole
    first, last = starts[:, None], (starts + lengths - 1)[:, None]
    base = first + whole.long()
    a, b, c, d = (audio[torch.minimum(torch.maximum(base + step, first), last)].float() for step in (-1, 0, 1, 2))
    sound = b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
    return sound.div_(32768) * (at < changed[:, None])


def warp(magnitudes: Tensor, generator: torch.Generator, probability: float = 0.6) -> Tensor:
    """Spectra [B, frames, 257] whose frequencies are multiplied by a factor for each clip, up to 7 kHz; the rest is squeezed."""
    uniform = torch.rand(3, len(magnitudes), generator=generator, device=generator.device)
    wide = uniform[0] + uniform[1] - 1  # triangular
    factor = 1 + wide * torch.where(wide < 0, 1 - NARROWEST, WIDEST - 1)
    factor = torch.where(uniform[2] < probability, factor, torch.ones_like(factor))[:, None]
    bins = magnitudes.shape[-1]
    at = torch.arange(bins, device=magnitudes.device)
    top, edge = bins - 1, 0.8 * (bins - 1)
    knee = edge / factor.clamp_min(1)
    beyond = factor * knee + (at - knee) * (top - factor * knee) / (top - knee)
    source = torch.where(at < knee, at * factor, beyond).clamp(0, top)
    low = source.floor().clamp_max(top - 1)
    share = (source - low)[:, None]
    low = low.long()[:, None].expand(magnitudes.shape)
    return magnitudes.gather(2, low) * (1 - share) + magnitudes.gather(2, low + 1) * share
