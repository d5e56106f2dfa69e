"""Sizes of the demo models, their configuration files, and the bits of each stored module.

There are two variants: `dense`, built like E2B, with towers; and `moe`, built like 26B-A4B, text only.

No deep-learning library is needed here: the dictionaries are what transformers' `Gemma4Config` takes and what
`config.json` holds.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from tokenizer import SPECIAL, VOCABULARY

VARIANTS = ("dense", "moe")
IMAGE_BUDGET = 70


def token_id(token: str) -> int:
    return SPECIAL.index(token)


def variant_of(folder: Path) -> str:
    """The variant of a folder written by training."""
    return json.loads((folder / "state.json").read_text()).get("variant", "dense")


def text_config(variant: str = "dense") -> dict:
    return DENSE_TEXT if variant == "dense" else DENSE_TEXT | MOE_CHANGES


def layer_types(sliding: int) -> list[str]:
    return (["sliding_attention"] * sliding + ["full_attention"]) * 2


DENSE_TEXT = {
    "model_type": "gemma4_text",
    "vocab_size": VOCABULARY,
    "vocab_size_per_layer_input": VOCABULARY,
    "hidden_size": 256,
    "hidden_size_per_layer_input": 64,
    "intermediate_size": 512,
    "use_double_wide_mlp": True,
    "num_hidden_layers": 10,
    "num_kv_shared_layers": 5,
    "layer_types": layer_types(4),
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "num_global_key_value_heads": None,
    "head_dim": 64,
    "global_head_dim": 128,
    "sliding_window": 128,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "hidden_activation": "gelu_pytorch_tanh",
    "final_logit_softcapping": 30.0,
    "attention_bias": False,
    "attention_dropout": 0.0,
    "attention_k_eq_v": False,
    "use_bidirectional_attention": None,
    "enable_moe_block": False,
    "num_experts": None,
    "top_k_experts": None,
    "moe_intermediate_size": None,
    "tie_word_embeddings": True,
    "initializer_range": 0.02,
    "use_cache": True,
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25},
    },
    "pad_token_id": token_id("<pad>"),
    "eos_token_id": token_id("<eos>"),
    "bos_token_id": token_id("<bos>"),
}

# Differences of 26B-A4B: experts in parallel to a narrow MLP, keys reused as values in full layers, separate caches in every layer, no
# per-layer embeddings.
MOE_CHANGES = {
    "hidden_size_per_layer_input": 0,
    "intermediate_size": 192,
    "use_double_wide_mlp": False,
    "num_hidden_layers": 6,
    "num_kv_shared_layers": 0,
    "layer_types": layer_types(2),
    "num_key_value_heads": 2,
    "num_global_key_value_heads": 1,
    "attention_k_eq_v": True,
    "enable_moe_block": True,
    "num_experts": 8,
    "top_k_experts": 2,
    "moe_intermediate_size": 128,
}


def vision_config() -> dict:
    return {
        "model_type": "gemma4_vision",
        "hidden_size": 192,
        "intermediate_size": 768,
        "num_hidden_layers": 4,
        "num_attention_heads": 3,
        "num_key_value_heads": 3,
        "head_dim": 64,
        "hidden_activation": "gelu_pytorch_tanh",
        "rms_norm_eps": 1e-6,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "max_position_embeddings": 131072,
        "patch_size": 16,
        "pooling_kernel_size": 3,
        "position_embedding_size": 512,
        "default_output_length": IMAGE_BUDGET,
        "rope_parameters": {"rope_type": "axial", "rope_theta": 100.0},
        "standardize": False,
        "use_clipped_linears": True,
        "initializer_range": 0.02,
    }


def audio_config() -> dict:
    return {
        "model_type": "gemma4_audio",
        "hidden_size": 192,
        "num_hidden_layers": 4,
        "num_attention_heads": 3,
        "hidden_act": "silu",
        "subsampling_conv_channels": [128, 16],
        "conv_kernel_size": 5,
        "residual_weight": 0.5,
        "attention_chunk_size": 12,
        "attention_context_left": 13,
        "attention_context_right": 0,
        "attention_logit_cap": 50.0,
        "attention_invalid_logits_value": -1e9,
        "use_clipped_linears": True,
        "gradient_clipping": 1e10,
        "output_proj_dims": 192,
        "rms_norm_eps": 1e-6,
        "initializer_range": 0.02,
    }


def model_config(variant: str = "dense") -> dict:
    """The content of config.json, without quantisation."""
    return {
        "architectures": ["Gemma4ForConditionalGeneration"],
        "model_type": "gemma4",
        "dtype": "bfloat16",
        "tie_word_embeddings": True,
        "initializer_range": 0.02,
        "pad_token_id": token_id("<pad>"),
        "bos_token_id": token_id("<bos>"),
        "eos_token_id": [token_id("<eos>"), token_id("<turn|>"), token_id("<|tool_response>")],
        "boi_token_id": token_id("<|image>"),
        "eoi_token_id": token_id("<image|>"),
        "image_token_id": token_id("<|image|>"),
        "boa_token_id": token_id("<|audio>"),
        "eoa_token_index": token_id("<audio|>"),
        "audio_token_id": token_id("<|audio|>"),
        "video_token_id": token_id("<|video|>"),
        "text_config": text_config(variant),
        "vision_config": vision_config() if variant == "dense" else None,
        "audio_config": audio_config() if variant == "dense" else None,
    }


def generation_config() -> dict:
    return {
        "bos_token_id": token_id("<bos>"),
        "pad_token_id": token_id("<pad>"),
        "eos_token_id": [token_id("<eos>"), token_id("<turn|>"), token_id("<|tool_response>")],
        "do_sample": True,
        "temperature": 1.0,
        "top_k": 64,
        "top_p": 0.95,
        # Media placeholders represent soft tokens and are never generated by the model.
        "suppress_tokens": [
            token_id(token)
            for token in ("<|image>", "<image|>", "<|image|>", "<|audio>", "<audio|>", "<|audio|>", "<|video|>")
        ],
    }


def processor_config() -> dict:
    return {
        "processor_class": "Gemma4Processor",
        "image_seq_length": IMAGE_BUDGET,
        "audio_seq_length": 750,
        "audio_ms_per_token": 40,
        "image_processor": {
            "image_processor_type": "Gemma4ImageProcessor",
            "do_convert_rgb": True,
            "do_resize": True,
            "do_rescale": True,
            "do_normalize": False,
            "rescale_factor": 1 / 255,
            "resample": 3,
            "image_mean": [0.0, 0.0, 0.0],
            "image_std": [1.0, 1.0, 1.0],
            "patch_size": 16,
            "pooling_kernel_size": 3,
            "max_soft_tokens": IMAGE_BUDGET,
        },
        "video_processor": {
            "video_processor_type": "Gemma4VideoProcessor",
            "do_convert_rgb": True,
            "do_resize": True,
            "do_rescale": True,
            "do_normalize": True,
            "rescale_factor": 1 / 255,
            "resample": 3,
            "image_mean": [0.0, 0.0, 0.0],
            "image_std": [1.0, 1.0, 1.0],
            "patch_size": 16,
            "pooling_kernel_size": 3,
            "max_soft_tokens": 70,
            "num_frames": 32,
            "do_sample_frames": True,
        },
        "feature_extractor": {
            "feature_extractor_type": "Gemma4AudioFeatureExtractor",
            "feature_size": 128,
            "sampling_rate": 16000,
            "padding_value": 0.0,
            "return_attention_mask": True,
            "frame_length_ms": 20.0,
            "hop_length_ms": 10.0,
            "min_frequency": 0.0,
            "max_frequency": 8000.0,
            "preemphasis": 0.0,
            "preemphasis_htk_flavor": True,
            "fft_overdrive": False,
            "dither": 0.0,
            "input_scale_factor": 1.0,
            "mel_floor": 0.001,
        },
    }


# Matrices of the text model that lose too much at 4 bits; the MLPs, the experts and the towers keep 4.
EIGHT_BITS = re.compile(
    r"embed_tokens|per_layer_model_projection|self_attn\.[qkvo]_proj\.weight$|per_layer_input_gate|per_layer_projection\.|embedding_projection"
    r"|router\.proj|patch_embedder\.input_proj|audio_tower\.output_proj|input_proj_linear"
)


EXPERTS = re.compile(r"\.experts\.(gate_up|down)_proj$")


def bits_of(name: str, shape: tuple[int, ...]) -> int | None:
    """Bits with which a tensor of an HF checkpoint is stored, or None if it stays in bfloat16."""
    is_matrix = len(shape) == 2 and name.endswith(".weight")
    if not (is_matrix or EXPERTS.search(name)) or shape[-1] % 64 != 0:
        return None
    return 8 if EIGHT_BITS.search(name) else 4
