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
from architecture import bits_of, model_config, text_config
from mixture import experts, route

CLIP_INPUT, CLIP_OUTPUT = 8.0, 16.0


def make_model(seed: int, variant: str = "dense") -> Gemma4ForConditionalGeneration:
    """A freshly initialised model in float32, with finite clip bounds in the towers."""
    torch.manual_seed(seed)
    content = model_config(variant)
    config = Gemma4Config(
        **{key: value for key, value in content.items() if key not in ("architectures", "model_type", "dtype")}
    )
    config._attn_implementation = "sdpa"
    config._experts_implementation = "eager"
    model = Gemma4ForConditionalGeneration(config).float()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("q_norm.weight"):
                # Attention has no 1/sqrt(D), so queries start small instead.
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
            elif name.endswith("router.proj.weight"):
                # Its input has norm 1.
                parameter.normal_(0.0, 0.5)
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
    """Float32 groups [N, 64] after quantisation to `bits` bits and dequantisation; see affine.py."""
    lo, hi = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    # A tensor, because GPUs multiply by the reciprocal of a plain number, which is one unit less in the last place and gives groups with lo
    # = -hi another zero code.
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
    """Writes to `live` the values that a checkpoint of `master` would store: bfloat16, quantised where the checkpoint is."""
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


def rope_table(sizes: dict, length: int, full: bool, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines [T, 1, D]."""
    size = sizes["global_head_dim"] if full else sizes["head_dim"]
    rope = sizes["rope_parameters"]["full_attention" if full else "sliding_attention"]
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


def for_queries(x: Tensor, count: int) -> Tensor:
    """Keys or values [B, G, T, D], repeated for `count` query heads."""
    return x[:, :, None].expand(-1, -1, count // x.shape[1], -1, -1).flatten(1, 2)


def layer(
    h: Tensor,
    ple: Tensor | None,
    bias: Tensor,
    cos: Tensor,
    sin: Tensor,
    shared: tuple[Tensor, Tensor] | None,
    weights: dict[str, Tensor],
    top_k: int | None,
    dtype: torch.dtype,
):
    """One decoder layer on float32 [B, T, D]; returns the new stream, the keys and values that it used, and the
    balance of its experts, zero without any."""
    w = weights
    rows, length, _ = h.shape
    heads = (rows, length, -1, w["q_norm"].shape[0])
    x = norm(h, w["input_layernorm"])
    q = rotate(norm(linear(x, w["q_proj"], dtype).view(heads), w["q_norm"]), cos, sin).to(dtype).transpose(1, 2)
    if shared is None:
        raw = linear(x, w["k_proj"], dtype).view(heads)
        k = rotate(norm(raw, w["k_norm"]), cos, sin).to(dtype).transpose(1, 2)
        v = norm(linear(x, w["v_proj"], dtype).view(heads) if "v_proj" in w else raw).to(dtype).transpose(1, 2)
    else:
        k, v = shared
    attended = F.scaled_dot_product_attention(
        q,
        for_queries(k, q.shape[1]),
        for_queries(v, q.shape[1]),
        attn_mask=bias.expand(rows, q.shape[1], length, length),
        scale=1.0,
    )
    attended = linear(attended.transpose(1, 2).reshape(rows, length, -1), w["o_proj"], dtype)
    h = h + norm(attended, w["post_attention_layernorm"])
    x = norm(h, w["pre_feedforward_layernorm"])
    gate = F.gelu(linear(x, w["gate_proj"], dtype), approximate="tanh")
    fed = linear(gate * linear(x, w["up_proj"], dtype), w["down_proj"], dtype)
    balance = torch.zeros((), device=h.device)
    if top_k is not None:
        chosen, balance = route(norm(h), w["router.scale"], w["router.proj"], w["router.per_expert_scale"], top_k)
        x = norm(h, w["pre_feedforward_layernorm_2"])
        mixed = experts(x, chosen, w["experts.gate_up_proj"], w["experts.down_proj"], dtype)
        fed = norm(fed, w["post_feedforward_layernorm_1"]) + norm(mixed, w["post_feedforward_layernorm_2"])
    h = h + norm(fed, w["post_feedforward_layernorm"])
    if ple is not None:
        gated = F.gelu(linear(h, w["per_layer_input_gate"], dtype), approximate="tanh") * ple.to(dtype)
        h = h + norm(linear(gated, w["per_layer_projection"], dtype), w["post_per_layer_input_norm"])
    return h, k, v, balance


def embed(ids: Tensor, table: Tensor) -> Tensor:
    """Scaled embeddings [B, T, D]."""
    return F.embedding(ids, table) * table.shape[1] ** 0.5


def per_layer_inputs(
    ids: Tensor, h: Tensor, table: Tensor, projection: Tensor, gain: Tensor, dtype: torch.dtype
) -> Tensor:
    """Per-layer inputs [B, T, L, P] of scaled embeddings `h`."""
    size = gain.shape[0]
    identity = F.embedding(ids, table).unflatten(-1, (-1, size)) * size**0.5
    context = (linear(h, projection, dtype).float() * h.shape[-1] ** -0.5).unflatten(-1, (-1, size))
    return ((norm(context, gain) + identity) * 2**-0.5).to(dtype)


def logits_of(h: Tensor, gain: Tensor, table: Tensor, dtype: torch.dtype) -> Tensor:
    return 30.0 * torch.tanh(linear(norm(h, gain), table, dtype).float() / 30.0)


def loss_of(h: Tensor, gain: Tensor, table: Tensor, targets: Tensor, weights: Tensor, dtype: torch.dtype) -> Tensor:
    """Weighted mean of the cross entropy."""
    entropy = F.cross_entropy(logits_of(h, gain, table, dtype).flatten(0, 1), targets.flatten(), reduction="none")
    return (entropy * weights.flatten()).sum() / weights.sum().clamp_min(1.0)


def row_losses(h: Tensor, gain: Tensor, table: Tensor, targets: Tensor, weights: Tensor, dtype: torch.dtype) -> Tensor:
    """Weighted sum of the cross entropy of each row [B]."""
    entropy = F.cross_entropy(logits_of(h, gain, table, dtype).flatten(0, 1), targets.flatten(), reduction="none")
    return (entropy.view_as(weights) * weights).sum(-1)


def place(h: Tensor, soft: Tensor, source: Tensor) -> Tensor:
    """Replaces the embeddings of placeholders by soft tokens."""
    # Positions without one read arbitrary distinct rows, because gradients that all go to one row are slow.
    anywhere = torch.arange(source.numel(), device=source.device).view_as(source) % soft.shape[0]
    return torch.where(source[..., None] > 0, soft[torch.where(source > 0, source, anywhere)], h)


def layer_weights(module: torch.nn.Module) -> dict[str, Tensor]:
    """All parameters of a transformers decoder layer, by the names that `layer` uses."""
    return {
        name.removesuffix(".weight").removeprefix("self_attn.").removeprefix("mlp."): parameter
        for name, parameter in module.named_parameters()
    }


class TextModel:
    """The text part over the parameters of a transformers model."""

    def __init__(self, model: Gemma4ForConditionalGeneration, variant: str = "dense", compiled: bool = False) -> None:
        self.sizes = text_config(variant)
        inner = model.model.language_model
        self.table, self.gain = inner.embed_tokens.weight, inner.norm.weight
        self.ple = None
        if self.sizes["hidden_size_per_layer_input"] > 0:
            modules = (inner.embed_tokens_per_layer, inner.per_layer_model_projection, inner.per_layer_projection_norm)
            self.ple = [module.weight for module in modules]
        self.layers = [layer_weights(module) for module in inner.layers]
        compile_ = (lambda f: torch.compile(f, dynamic=False, fullgraph=True)) if compiled else (lambda f: f)
        self.layer, self.loss_of = compile_(layer), compile_(loss_of)
        self.embed, self.per_layer_inputs = compile_(embed), compile_(per_layer_inputs)
        self.place, self.row_losses = compile_(place), compile_(row_losses)

    def hidden(
        self,
        ids: Tensor,
        documents: Tensor | None,
        dtype: torch.dtype,
        soft: Tensor | None = None,
        source: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The stream after the last layer, before the final norm, and the mean balance of the experts.

        Without documents, every row is one document. Where `source` [B, T] is not zero, row `source` of `soft` [S, D] stands
        in place of the embedding; such ids have to be those of padding.
        """
        length, device = ids.shape[1], ids.device
        distance = torch.arange(length, device=device)[:, None] - torch.arange(length, device=device)
        visible = (distance >= 0)[None]
        if documents is not None:
            visible = visible & (documents[:, :, None] == documents[:, None, :])
        biases, tables = {}, {}
        for kind in ("sliding_attention", "full_attention"):
            seen = visible
            if kind == "sliding_attention":
                seen = visible & (distance < self.sizes["sliding_window"])[None]
            mask = torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill_(~seen, float("-inf"))
            biases[kind] = mask[:, None]
            tables[kind] = rope_table(self.sizes, length, kind == "full_attention", device)
        h = self.embed(ids, self.table)
        if soft is not None and source is not None:
            h = self.place(h, soft, source)
        per_layer = None if self.ple is None else self.per_layer_inputs(ids, h, *self.ple, dtype).unbind(2)
        kinds = self.sizes["layer_types"]
        first_shared = len(kinds) - self.sizes["num_kv_shared_layers"]
        shared: dict[str, tuple[Tensor, Tensor]] = {}
        balances = []
        for index, kind in enumerate(kinds):
            given = shared[kind] if index >= first_shared else None
            ple = None if per_layer is None else per_layer[index].contiguous()
            h, k, v, balance = self.layer(
                h, ple, biases[kind], *tables[kind], given, self.layers[index], self.sizes["top_k_experts"], dtype
            )
            balances.append(balance)
            if index < first_shared:
                shared[kind] = (k, v)
        return h, torch.stack(balances).mean()

    def loss(self, ids: Tensor, documents: Tensor, weights: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Loss of predicting each token from the previous ones, and the mean balance of the experts.

        `weights` [B, T] belong to the predicted tokens.
        """
        h, balance = self.hidden(ids, documents, dtype)
        targets = torch.cat((ids[:, 1:], ids[:, :1]), 1)
        shifted = torch.cat((weights[:, 1:], torch.zeros_like(weights[:, :1])), 1)
        return self.loss_of(h, self.gain, self.table, targets, shifted, dtype), balance

    @torch.no_grad()
    def logits(
        self,
        ids: Tensor,
        positions: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
        soft: Tensor | None = None,
        source: Tensor | None = None,
    ) -> Tensor:
        """Logits [B, T, V], or [B, V] at one position per row."""
        h, _ = self.hidden(ids, None, dtype, soft, source)
        if positions is not None:
            h = h[torch.arange(len(ids), device=ids.device), positions]
        return logits_of(h, self.gain, self.table, dtype)


@torch.no_grad()
def check_forward(model: Gemma4ForConditionalGeneration, variant: str, device: torch.device) -> float:
    """Largest difference between the logits and those of transformers' own forward, in float32."""
    text = TextModel(model, variant)
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(24, text.sizes["vocab_size"], (2, 200), generator=generator).to(device)
    reference = model(input_ids=ids, use_cache=False).logits
    return (text.logits(ids) - reference).abs().max().item()
