"""The model on the GPU: transformers' modules as the owner of the weights, and a fast text forward for training.

`text_forward` computes what `Gemma4TextModel` computes for packed rows. `check_forward` compares both, so that
training can never drift from the reference.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import Gemma4Config, Gemma4ForConditionalGeneration

from affine import GROUP
from architecture import LAYER_TYPES, bits_of, model_config, text_config

TEXT = text_config()
LAYERS, HEADS, WIDTH, PLE = (
    len(LAYER_TYPES),
    TEXT["num_attention_heads"],
    TEXT["hidden_size"],
    TEXT["hidden_size_per_layer_input"],
)
FIRST_SHARED = LAYERS - TEXT["num_kv_shared_layers"]
CLIP_INPUT, CLIP_OUTPUT = 8.0, 16.0


def make_model(seed: int) -> Gemma4ForConditionalGeneration:
    """A freshly initialised model in float32, with finite clip bounds in the towers."""
    torch.manual_seed(seed)
    config = Gemma4Config(
        **{key: value for key, value in model_config().items() if key not in ("architectures", "model_type", "dtype")}
    )
    config._attn_implementation = "sdpa"
    model = Gemma4ForConditionalGeneration(config).float()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("q_norm.weight"):
                # Attention has no 1/sqrt(D): queries start short instead.
                parameter.fill_(2.0 / parameter.shape[0] ** 0.5)
            elif (
                name.endswith(
                    (
                        "post_attention_layernorm.weight",
                        "post_feedforward_layernorm.weight",
                        "post_per_layer_input_norm.weight",
                    )
                )
                and "language_model" in name
            ):
                parameter.fill_(0.5)
            elif name.endswith("position_embedding_table"):
                parameter.normal_(0.0, 0.02)
            elif name.endswith(("embed_tokens.weight", "embed_tokens_per_layer.weight")):
                parameter.normal_(0.0, 0.06)
        for name, buffer in model.named_buffers():
            for part, bound in (
                ("input_min", -CLIP_INPUT),
                ("input_max", CLIP_INPUT),
                ("output_min", -CLIP_OUTPUT),
                ("output_max", CLIP_OUTPUT),
            ):
                if name.endswith(part):
                    buffer.fill_(bound)
    return model


def fake_quantize(groups: Tensor, bits: int) -> Tensor:
    """What float32 groups [N, 64] become when they are stored in `bits` bits and read again; see affine.py."""
    lo, hi = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    # A tensor, since GPUs multiply by the reciprocal of a plain number: one unit less in the last place, and groups with
    # lo = -hi get another zero code.
    n = torch.full_like(lo, 2**bits - 1)
    scale = ((hi - lo) / n).clamp_min(1e-7)
    low_end = lo.abs() > hi.abs()
    scale = torch.where(low_end, scale, -scale)
    end = torch.where(low_end, lo, hi)
    zero_code = torch.round(end / scale)
    exact = zero_code != 0
    scale = torch.where(exact, end / torch.where(exact, zero_code, torch.ones_like(zero_code)), scale)
    bias = torch.where(exact, end, torch.zeros_like(end))
    codes = torch.round((groups - bias) / scale).clamp(0, 2**bits - 1)
    return codes * scale.bfloat16().float() + bias.bfloat16().float()


@torch.no_grad()
def store(live: dict[str, Tensor], master: dict[str, Tensor]) -> None:
    """Writes into `live` what a checkpoint of `master` would give: bfloat16, quantised where the checkpoint is."""
    by_bits: dict[int | None, list[str]] = {}
    for name, tensor in master.items():
        by_bits.setdefault(bits_of(name, tuple(tensor.shape)), []).append(name)
    for bits, names in by_bits.items():
        rounded = [master[name].bfloat16().float() for name in names]
        if bits is not None:
            flat = fake_quantize(torch.cat([tensor.view(-1, GROUP) for tensor in rounded]), bits)
            parts = flat.split([tensor.numel() // GROUP for tensor in rounded])
            rounded = [part.view_as(tensor) for part, tensor in zip(parts, rounded)]
        torch._foreach_copy_([live[name] for name in names], rounded)


def norm(x: Tensor, weight: Tensor | None = None) -> Tensor:
    x = x.float()
    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return y if weight is None else y * weight


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of [B, T, H, D] in pairs (i, i + D/2)."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def rope_table(length: int, full: bool, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines [T, 1, D]."""
    size = TEXT["global_head_dim"] if full else TEXT["head_dim"]
    rope = TEXT["rope_parameters"]["full_attention" if full else "sliding_attention"]
    index = torch.arange(size // 2, dtype=torch.float32, device=device)
    frequencies = rope["rope_theta"] ** (-2 * index / size)
    if full:
        frequencies = torch.where(
            index < int(rope["partial_rotary_factor"] * size // 2), frequencies, torch.zeros_like(frequencies)
        )
    angles = torch.arange(length, dtype=torch.float32, device=device)[:, None] * frequencies
    angles = torch.cat((angles, angles), -1)[:, None]
    return angles.cos(), angles.sin()


def linear(x: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    return F.linear(x.to(dtype), weight.to(dtype))


def layer(
    h: Tensor,
    ple: Tensor,
    bias: Tensor,
    cos: Tensor,
    sin: Tensor,
    shared: tuple[Tensor, Tensor] | None,
    weights: list[Tensor],
    dtype: torch.dtype,
):
    """One decoder layer on float32 [B, T, D]; returns the new stream and the keys and values it attended with."""
    (n_in, n_att, n_ff, n_ffout, n_ple, w_q, q_gain, w_o, w_gate, w_up, w_down, w_pgate, w_pproj) = weights[:13]
    rows, length, _ = h.shape
    x = norm(h, n_in)
    q = rotate(norm(linear(x, w_q, dtype).view(rows, length, HEADS, -1), q_gain), cos, sin).to(dtype).transpose(1, 2)
    if shared is None:
        w_k, w_v, k_gain = weights[13:]
        k = rotate(norm(linear(x, w_k, dtype).view(rows, length, 1, -1), k_gain), cos, sin).to(dtype).transpose(1, 2)
        v = norm(linear(x, w_v, dtype).view(rows, length, 1, -1)).to(dtype).transpose(1, 2)
    else:
        k, v = shared
    heads = (rows, HEADS, length, q.shape[-1])
    attended = F.scaled_dot_product_attention(
        q, k.expand(heads), v.expand(heads), attn_mask=bias.expand(rows, HEADS, length, length), scale=1.0
    )
    h = h + norm(linear(attended.transpose(1, 2).reshape(rows, length, -1), w_o, dtype), n_att)
    x = norm(h, n_ff)
    fed = linear(F.gelu(linear(x, w_gate, dtype), approximate="tanh") * linear(x, w_up, dtype), w_down, dtype)
    h = h + norm(fed, n_ffout)
    gated = F.gelu(linear(h, w_pgate, dtype), approximate="tanh") * ple.to(dtype)
    return h + norm(linear(gated, w_pproj, dtype), n_ple), k, v


def embed(
    ids: Tensor, table: Tensor, ple_table: Tensor, projection: Tensor, gain: Tensor, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Scaled embeddings [B, T, D] and per-layer inputs [B, T, L, P]."""
    h = F.embedding(ids, table) * WIDTH**0.5
    identity = F.embedding(ids, ple_table).view(*ids.shape, LAYERS, PLE) * PLE**0.5
    context = (linear(h, projection, dtype).float() * WIDTH**-0.5).view(*ids.shape, LAYERS, PLE)
    return h, ((norm(context, gain) + identity) * 2**-0.5).to(dtype)


def logits_of(h: Tensor, gain: Tensor, table: Tensor, dtype: torch.dtype) -> Tensor:
    return 30.0 * torch.tanh(linear(norm(h, gain), table, dtype).float() / 30.0)


def loss_of(h: Tensor, gain: Tensor, table: Tensor, targets: Tensor, weights: Tensor, dtype: torch.dtype) -> Tensor:
    """Weighted mean of the cross entropy."""
    entropy = F.cross_entropy(logits_of(h, gain, table, dtype).flatten(0, 1), targets.flatten(), reduction="none")
    return (entropy * weights.flatten()).sum() / weights.sum().clamp_min(1.0)


class TextModel:
    """The text part over the parameters of a transformers model."""

    def __init__(self, model: Gemma4ForConditionalGeneration, compiled: bool = False) -> None:
        inner = model.model.language_model
        self.table, self.ple_table = inner.embed_tokens.weight, inner.embed_tokens_per_layer.weight
        self.projection, self.ple_gain, self.gain = (
            inner.per_layer_model_projection.weight,
            inner.per_layer_projection_norm.weight,
            inner.norm.weight,
        )
        self.layers = []
        for index, module in enumerate(inner.layers):
            attention, mlp = module.self_attn, module.mlp
            weights = [
                module.input_layernorm,
                module.post_attention_layernorm,
                module.pre_feedforward_layernorm,
                module.post_feedforward_layernorm,
                module.post_per_layer_input_norm,
                attention.q_proj,
                attention.q_norm,
                attention.o_proj,
                mlp.gate_proj,
                mlp.up_proj,
                mlp.down_proj,
                module.per_layer_input_gate,
                module.per_layer_projection,
            ]
            if index < FIRST_SHARED:
                weights += [attention.k_proj, attention.v_proj, attention.k_norm]
            self.layers.append([item.weight for item in weights])
        compile_ = (lambda f: torch.compile(f, dynamic=False, fullgraph=True)) if compiled else (lambda f: f)
        self.layer, self.embed, self.loss_of = compile_(layer), compile_(embed), compile_(loss_of)

    def hidden(self, ids: Tensor, documents: Tensor | None, dtype: torch.dtype) -> Tensor:
        """The stream after the last layer, before the final norm. Without documents, every row is one document."""
        length, device = ids.shape[1], ids.device
        distance = torch.arange(length, device=device)[:, None] - torch.arange(length, device=device)
        visible = (distance >= 0)[None]
        if documents is not None:
            visible = visible & (documents[:, :, None] == documents[:, None, :])
        biases, tables = {}, {}
        for kind in ("sliding_attention", "full_attention"):
            seen = visible & (distance < TEXT["sliding_window"])[None] if kind == "sliding_attention" else visible
            biases[kind] = torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill_(~seen, float("-inf"))[
                :, None
            ]
            tables[kind] = rope_table(length, kind == "full_attention", device)
        h, ple = self.embed(ids, self.table, self.ple_table, self.projection, self.ple_gain, dtype)
        per_layer = ple.unbind(2)
        shared: dict[str, tuple[Tensor, Tensor]] = {}
        for index, kind in enumerate(LAYER_TYPES):
            given = shared[kind] if index >= FIRST_SHARED else None
            h, k, v = self.layer(
                h, per_layer[index].contiguous(), biases[kind], *tables[kind], given, self.layers[index], dtype
            )
            if index < FIRST_SHARED:
                shared[kind] = (k, v)
        return h

    def loss(self, ids: Tensor, documents: Tensor, weights: Tensor, dtype: torch.dtype) -> Tensor:
        """Loss of predicting each token from those before it; `weights` [B, T] belong to the predicted tokens."""
        h = self.hidden(ids, documents, dtype)
        targets = torch.cat((ids[:, 1:], ids[:, :1]), 1)
        shifted = torch.cat((weights[:, 1:], torch.zeros_like(weights[:, :1])), 1)
        return self.loss_of(h, self.gain, self.table, targets, shifted, dtype)

    @torch.no_grad()
    def logits(self, ids: Tensor, positions: Tensor | None = None, dtype: torch.dtype = torch.float32) -> Tensor:
        """Logits [B, T, V], or [B, V] at one position per row."""
        h = self.hidden(ids, None, dtype)
        if positions is not None:
            h = h[torch.arange(len(ids), device=ids.device), positions]
        return logits_of(h, self.gain, self.table, dtype)


@torch.no_grad()
def check_forward(model: Gemma4ForConditionalGeneration, device: torch.device) -> float:
    """Largest difference of the logits to transformers' own forward, in float32."""
    ids = torch.randint(24, TEXT["vocab_size"], (2, 200), generator=torch.Generator().manual_seed(1)).to(device)
    reference = model(input_ids=ids, use_cache=False).logits
    return (TextModel(model).logits(ids) - reference).abs().max().item()
