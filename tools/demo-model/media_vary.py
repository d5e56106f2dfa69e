"""Random augmentation of pictures and features on the GPU, different at each use."""

from __future__ import annotations

import torch


def vary_pixels(patches: torch.Tensor) -> torch.Tensor:
    """Patches [B, N, 768] uint8 as [0, 1], with different light, contrast, colour balance and noise for each picture."""
    count, device = len(patches), patches.device
    uniform = lambda low, high, *shape: torch.rand((count, *shape), device=device) * (high - low) + low  # noqa: E731
    x = patches.to(torch.bfloat16).float() / 255
    gain = uniform(0.9, 1.08, 1, 1) * uniform(0.97, 1.03, 1, 3).repeat(1, 1, 256)
    x = (x - 0.5) * uniform(0.88, 1.1, 1, 1) + 0.5
    x = x.clamp(0, 1) ** uniform(0.88, 1.14, 1, 1) * gain
    noise = uniform(-0.06, 0.06, 1, 1).clamp_min(0)
    return (x + torch.randn_like(x) * noise).clamp(0, 1)


def mask_features(features: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """In half of the clips, a frequency band and a time span are replaced by the clip's mean."""
    count, frames, mels = features.shape
    device = features.device
    mean = features.sum((1, 2), keepdim=True) / (valid.sum(1).clamp_min(1) * mels)[:, None, None]
    chosen = torch.rand((count, 1, 1), device=device) < 0.5

    def span(length: int, most: float) -> torch.Tensor:
        at = torch.arange(length, device=device)
        first, size = torch.rand((count, 1), device=device) * length, torch.rand((count, 1), device=device) * most
        return (at >= first) & (at < first + size)

    hidden = chosen & (span(mels, 20)[:, None, :] | span(frames, 10)[:, :, None])
    return torch.where(hidden & valid[..., None], mean, features)
