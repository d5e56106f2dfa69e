"""The mixture of experts for training: every expert computes every row, and rows weight the chosen ones.

    w = softmax(router)[top k] / sum · per_expert_scale          m = sum_e w_e · down_e(gelu(gate_e x) ⊙ up_e x)

That is what transformers' experts compute, for E / k times the work, in three matrix products without any sorting.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

# Weight of the term that keeps experts evenly used.
BALANCE = 0.01


def route(x: Tensor, scale: Tensor, w_router: Tensor, expert_scale: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
    """Weights [B, T, E] of float32 rows that are normalised but not scaled, zero for experts not chosen; and the balance.

    The balance is E · sum_e (share of rows that chose e / k) · (mean probability of e): 1 when all are used alike.
    """
    probabilities = torch.softmax(F.linear(x * scale * x.shape[-1] ** -0.5, w_router), -1)
    best, chosen = probabilities.topk(top_k, -1)
    best = best / best.sum(-1, keepdim=True)
    weights = torch.zeros_like(probabilities).scatter(-1, chosen, best) * expert_scale
    used = torch.zeros_like(probabilities).scatter(-1, chosen, torch.ones_like(best)).flatten(0, -2).mean(0) / top_k
    return weights, w_router.shape[0] * (used * probabilities.flatten(0, -2).mean(0)).sum()


def experts(x: Tensor, weights: Tensor, w_gate_up: Tensor, w_down: Tensor, dtype: torch.dtype) -> Tensor:
    """Weighted sum of all experts on [B, T, D]; `w_gate_up` [E, 2F, D], `w_down` [E, D, F]."""
    count, double, width = w_gate_up.shape
    both = F.linear(x.to(dtype), w_gate_up.reshape(count * double, width).to(dtype)).unflatten(-1, (count, double))
    gate, up = both.chunk(2, -1)
    hidden = F.gelu(gate, approximate="tanh") * up * weights.to(dtype)[..., None]
    return F.linear(hidden.flatten(-2), w_down.transpose(0, 1).reshape(width, -1).to(dtype))
