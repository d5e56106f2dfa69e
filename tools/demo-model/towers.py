"""Vision and audio tower as fast forwards over the parameters of transformers' modules, for training.

`check_towers` compares both with transformers, so that training can never drift from the reference. Shapes: B clips or images,
N patches, F frames, T = ceil(F / 4) soft tokens of a clip, D width, H heads.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import Gemma4ForConditionalGeneration

from architecture import audio_config, vision_config
from model import CLIP_INPUT, CLIP_OUTPUT, linear, norm

POOL = 9  # patches of a soft token
KEYS = audio_config()["attention_context_left"] - 1  # keys that a step attends to, including itself


def clipped(x: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    """clamp(W · clamp(x))"""
    return linear(x.clamp(-CLIP_INPUT, CLIP_INPUT), weight, dtype).clamp(-CLIP_OUTPUT, CLIP_OUTPUT)


def named(module: torch.nn.Module) -> dict[str, Tensor]:
    """Parameters of a layer by short names: `self_attn.q_proj.linear.weight` becomes `q_proj`."""
    return {
        name.removesuffix(".weight").removesuffix(".linear").removeprefix("self_attn.").removeprefix("mlp."): parameter
        for name, parameter in module.named_parameters()
    }


def rotate_axial(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of [B, N, H, d]: the first half of d is rotated by the column, the second by the row."""
    parts = []
    for part, c, s in zip(x.chunk(2, -1), cos.chunk(2, -1), sin.chunk(2, -1)):
        first, second = part.chunk(2, -1)
        parts.append(part * c + torch.cat((-second, first), -1) * s)
    return torch.cat(parts, -1)


def vision_layer(
    h: Tensor, bias: Tensor, cos: Tensor, sin: Tensor, weights: dict[str, Tensor], dtype: torch.dtype
) -> Tensor:
    """One encoder layer on float32 [B, N, D]."""
    w = weights
    images, count, _ = h.shape
    heads = (images, count, -1, w["q_norm"].shape[0])
    x = norm(h, w["input_layernorm"])
    q = rotate_axial(norm(clipped(x, w["q_proj"], dtype).view(heads), w["q_norm"]), cos, sin).to(dtype).transpose(1, 2)
    k = rotate_axial(norm(clipped(x, w["k_proj"], dtype).view(heads), w["k_norm"]), cos, sin).to(dtype).transpose(1, 2)
    v = norm(clipped(x, w["v_proj"], dtype).view(heads)).to(dtype).transpose(1, 2)
    mask = bias.expand(images, q.shape[1], count, count)
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)
    attended = clipped(attended.transpose(1, 2).reshape(images, count, -1), w["o_proj"], dtype)
    h = h + norm(attended, w["post_attention_layernorm"])
    x = norm(h, w["pre_feedforward_layernorm"])
    gate = F.gelu(clipped(x, w["gate_proj"], dtype), approximate="tanh")
    fed = clipped(gate * clipped(x, w["up_proj"], dtype), w["down_proj"], dtype)
    return h + norm(fed, w["post_feedforward_layernorm"])


def places_of(grids: Tensor, blocks: int) -> tuple[Tensor, Tensor]:
    """Columns and rows of patches [B, N, 2] in the order of `scenes.patches_of`, and which are real [B, N]."""
    across, down = grids[:, :1].long(), grids[:, 1:].long()
    block = torch.arange(blocks, device=grids.device)[None]
    inner = torch.arange(POOL, device=grids.device)
    x = (block % across * 3)[..., None] + inner % 3
    y = (block // across * 3)[..., None] + inner // 3
    real = (block < across * down)[..., None].expand(-1, -1, POOL)
    return torch.stack((x, y), -1).flatten(1, 2), real.flatten(1, 2)


def embed_patches(
    pixels: Tensor, places: Tensor, real: Tensor, w_in: Tensor, table: Tensor, dtype: torch.dtype
) -> Tensor:
    """Patches [B, N, 768] in [0, 1] to float32 [B, N, D]."""
    x = linear(2 * (pixels.float() - 0.5), w_in, dtype).float()
    at = places.clamp_max(table.shape[1] - 1)
    positions = F.embedding(at[..., 0], table[0]) + F.embedding(at[..., 1], table[1])
    return x + positions * real[..., None]


def pool(h: Tensor, w_out: Tensor, dtype: torch.dtype) -> Tensor:
    """Means of nine patches, normalised and projected: soft tokens [B, N / 9, text width], float32."""
    pooled = h.unflatten(1, (-1, POOL)).mean(2) * h.shape[-1] ** 0.5
    return linear(norm(pooled), w_out, dtype).float()


def subsample(features: Tensor, valid: Tensor, weights: dict[str, Tensor], dtype: torch.dtype) -> Tensor:
    """Two strided convolutions and a projection: features [B, F, 128] to float32 [B, T, D]."""
    h = features[:, None]
    for index in (0, 1):
        h = h * valid[:, None, :, None].to(h.dtype)
        h = F.conv2d(h.to(dtype), weights[f"layer{index}.conv"].to(dtype), stride=2, padding=1)
        h = h.permute(0, 2, 3, 1).float()
        h = F.relu(F.layer_norm(h, h.shape[-1:], weights[f"layer{index}.norm"], None, 1e-6)).permute(0, 3, 1, 2)
        valid = valid[:, ::2]
    return linear(h.permute(0, 2, 3, 1).flatten(2), weights["input_proj_linear"], dtype).float()


def half_step(h: Tensor, w: dict[str, Tensor], name: str, dtype: torch.dtype) -> Tensor:
    """A feed-forward block with a residual factor of one half."""
    x = norm(h, w[f"{name}.pre_layer_norm"])
    x = clipped(F.silu(clipped(x, w[f"{name}.ffw_layer_1"], dtype)), w[f"{name}.ffw_layer_2"], dtype)
    return h + 0.5 * norm(x, w[f"{name}.post_layer_norm"])


def audio_layer(
    h: Tensor, relative: Tensor, distance: Tensor, visible: Tensor, weights: dict[str, Tensor], dtype: torch.dtype
) -> Tensor:
    """One conformer layer on float32 [B, T, D].

    `relative` [KEYS + 1, D] are sinusoids of distances KEYS, …, 0; `distance` [T, T] indexes them; `visible` [B, 1, T, T].
    """
    w = weights
    clips, count, _ = h.shape
    h = half_step(h, w, "feed_forward1", dtype)
    x = norm(h, w["norm_pre_attn"])
    size = w["per_dim_scale"].shape[0]
    heads = (clips, count, -1, size)
    q = clipped(x, w["q_proj"], dtype).float().view(heads) * (size**-0.5 / math.log(2) * F.softplus(w["per_dim_scale"]))
    k = clipped(x, w["k_proj"], dtype).float().view(heads) * (math.log(1 + math.e) / math.log(2))
    v = clipped(x, w["v_proj"], dtype).view(heads)
    r = linear(relative, w["relative_k_proj"], dtype).view(KEYS + 1, -1, size)
    q, k, v = (t.to(dtype).transpose(1, 2) for t in (q, k, v))
    scores = (q @ k.transpose(-1, -2)).float()
    by_distance = (q @ r.permute(1, 2, 0)).float()
    scores = scores + by_distance.gather(-1, distance.expand(*scores.shape))
    scores = 50.0 * torch.tanh(scores / 50.0)
    p = torch.softmax(scores.masked_fill(~visible, -1e9), -1)
    attended = clipped((p.to(dtype) @ v).transpose(1, 2).reshape(clips, count, -1), w["post"], dtype)
    h = h + norm(attended, w["norm_post_attn"])
    x = F.glu(clipped(norm(h, w["lconv1d.pre_layer_norm"]), w["lconv1d.linear_start"], dtype), -1)
    kernel = w["lconv1d.depthwise_conv1d"][:, 0].to(dtype)
    padded = F.pad(x, (0, 0, kernel.shape[1] - 1, 0))
    x = sum(padded[:, j : j + count] * kernel[:, j] for j in range(kernel.shape[1]))
    x = F.silu(norm(x, w["lconv1d.conv_norm"]))
    h = h + clipped(x, w["lconv1d.linear_end"], dtype)
    h = half_step(h, w, "feed_forward2", dtype)
    return norm(h, w["norm_out"])


def project_audio(h: Tensor, w_out: Tensor, b_out: Tensor, w_text: Tensor, dtype: torch.dtype) -> Tensor:
    """Output projection and embedder: soft tokens [B, T, text width], float32."""
    return linear(norm(linear(h, w_out, dtype).float() + b_out), w_text, dtype).float()


def sinusoids(width: int, device: torch.device) -> Tensor:
    """[sin, cos] of the distances KEYS, …, 0."""
    count = width // 2
    rates = torch.exp(torch.arange(count, device=device) * (-math.log(10000.0) / (count - 1)))
    angles = torch.arange(KEYS, -1, -1, device=device)[:, None] * rates
    return torch.cat((angles.sin(), angles.cos()), -1)


class Towers:
    """Both towers over the parameters of a transformers model."""

    def __init__(self, model: Gemma4ForConditionalGeneration, compiled: bool = False) -> None:
        inner = model.model
        vision, audio = inner.vision_tower, inner.audio_tower
        compile_ = (lambda f: torch.compile(f, dynamic=False, fullgraph=True)) if compiled else (lambda f: f)
        self.patch_embedder, self.embed_vision = vision.patch_embedder, inner.embed_vision.embedding_projection.weight
        self.vision_layers = [named(layer) for layer in vision.encoder.layers]
        self.stem = named(audio.subsample_conv_projection)
        self.audio_layers = [named(layer) for layer in audio.layers]
        self.output, self.embed_audio = audio.output_proj, inner.embed_audio.embedding_projection.weight
        self.vision_layer, self.embed_patches, self.pool = map(compile_, (vision_layer, embed_patches, pool))
        self.subsample, self.audio_layer, self.project_audio = map(compile_, (subsample, audio_layer, project_audio))

    def vision(self, pixels: Tensor, grids: Tensor, dtype: torch.dtype) -> Tensor:
        """Soft tokens [B, blocks, text width] of patches [B, 9 · blocks, 768] in [0, 1] and grids [B, 2] of soft tokens."""
        places, real = places_of(grids, pixels.shape[1] // POOL)
        config = vision_config()
        quarter = config["head_dim"] // 4
        rates = config["rope_parameters"]["rope_theta"] ** (-torch.arange(quarter, device=pixels.device) / quarter)
        angles = places[..., None].float() * rates
        angles = torch.cat((angles, angles), -1).flatten(2)[:, :, None]
        cos, sin = angles.cos(), angles.sin()
        bias = torch.zeros(real.shape, dtype=dtype, device=pixels.device).masked_fill_(~real, float("-inf"))[
            :, None, None
        ]
        embedder = self.patch_embedder
        h = self.embed_patches(
            pixels, places, real, embedder.input_proj.weight, embedder.position_embedding_table, dtype
        )
        for weights in self.vision_layers:
            h = self.vision_layer(h, bias, cos, sin, weights, dtype)
        return self.pool(h, self.embed_vision, dtype)

    def audio(self, features: Tensor, valid: Tensor, dtype: torch.dtype) -> Tensor:
        """Soft tokens [B, T, text width] of features [B, F, 128] and their validity [B, F]."""
        h = self.subsample(features, valid, self.stem, dtype)
        count, device = h.shape[1], h.device
        lag = torch.arange(count, device=device)[:, None] - torch.arange(count, device=device)
        visible = ((lag >= 0) & (lag < KEYS))[None, None] & valid[:, ::4][:, None, None]
        distance = KEYS - lag.clamp(0, KEYS)
        relative = sinusoids(h.shape[-1], device)
        for weights in self.audio_layers:
            h = self.audio_layer(h, relative, distance, visible, weights, dtype)
        return self.project_audio(h, self.output.weight, self.output.bias, self.embed_audio, dtype)


@torch.no_grad()
def check_towers(model: Gemma4ForConditionalGeneration, device: torch.device) -> float:
    """Largest difference between soft tokens and those of transformers' own towers, in float32, relative to their size."""
    towers, generator = Towers(model), torch.Generator().manual_seed(1)
    worst = 0.0
    for grid in ((8, 8), (11, 6)):
        blocks = 72
        pixels = torch.rand((1, blocks * POOL, 768), generator=generator).to(device)
        grids = torch.tensor([grid], device=device)
        ours = towers.vision(pixels, grids, torch.float32)[0, : grid[0] * grid[1]]
        places, real = places_of(grids, blocks)
        reference = model.model.vision_tower(
            pixel_values=pixels, pixel_position_ids=torch.where(real[..., None], places, -1)
        ).last_hidden_state
        reference = model.model.embed_vision(reference)
        worst = max(worst, ((ours - reference).norm() / reference.norm()).item())
    features = torch.randn((2, 200, 128), generator=generator).to(device)
    valid = torch.arange(200, device=device)[None] < torch.tensor([[200], [133]], device=device)
    features = features * valid[..., None]
    ours = towers.audio(features, valid, torch.float32)
    result = model.model.audio_tower(features, valid)
    reference = model.model.embed_audio(result.last_hidden_state)
    kept = result.attention_mask
    return max(worst, ((ours[kept] - reference[kept]).norm() / reference[kept].norm()).item())
