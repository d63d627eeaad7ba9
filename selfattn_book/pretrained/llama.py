"""Llama, Mistral and Qwen: their options and the names of their weights."""

from collections.abc import Collection
from functools import partial
from typing import Any

import torch
from torch import nn

from selfattn_book.pretrained.architecture import Architecture, Rotary
from selfattn_book.pretrained.options import Options
from selfattn_book.rotary import (
    dynamic_ntk_scaling,
    linear_scaling,
    llama3_scaling,
    yarn_scaling,
    yarn_temperature,
)

# What `transformers` takes for an option that is missing; null is something else.
QWEN2 = {"num_key_value_heads": 32, "max_position_embeddings": 32768, "sliding_window": 4096}
DEFAULTS: dict[str, dict[str, int]] = {
    "llama": {"max_position_embeddings": 2048},
    "mistral": QWEN2 | {"num_key_value_heads": 8, "max_position_embeddings": 131072},
    "qwen2": QWEN2,
    "qwen3": QWEN2 | {"head_dim": 128},
}


def llama(options: Options, family: str = "llama") -> Architecture:
    """Read the options of a Llama, or of a model of a family that varies it.

    Raises:
        TypeError, ValueError: an option is missing or not supported.

    Source:
        :cite:t:`touvron2023llama`, section 2.2; Mistral, :cite:t:`jiang2023mistral`.

    Example:
        >>> sizes = {"hidden_size": 8, "intermediate_size": 5, "num_attention_heads": 4}
        >>> sizes |= {"num_key_value_heads": 2, "num_hidden_layers": 1, "vocab_size": 7}
        >>> model = llama(Options(sizes), "mistral")
        >>> model.d_head, model.window
        (2, 4096)
    """
    options.set_defaults(DEFAULTS[family])
    if family not in ("llama", "qwen3"):
        options.only("attention_bias", False, None)
    if family != "llama":
        options.only("mlp_bias", False, None)
    options.only("rope_interleaved", False, None)
    options.only("use_mrope", False, None)
    d_model, heads = options.size("hidden_size"), options.size("num_attention_heads")
    bias, layers = options.flag("attention_bias", False), options.size("num_hidden_layers")
    d_head = options.size("head_dim", max(d_model // heads, 1))
    window, windowed = _windows(options, family, layers)
    return Architecture(
        vocab_size=options.size("vocab_size"),
        d_model=d_model,
        num_layers=layers,
        num_heads=heads,
        num_kv_heads=options.size("num_key_value_heads", heads),
        d_head=d_head,
        d_ff=options.size("intermediate_size"),
        norm=nn.RMSNorm,
        eps=options.number("rms_norm_eps", 1e-6),
        activation=options.activation("hidden_act", "silu"),
        gated=True,
        tie_weights=options.flag("tie_word_embeddings", False),
        rotary=_rotary(options, d_head),
        qk_norm=family == "qwen3",
        query_bias=bias or family == "qwen2",
        output_bias=bias,
        feed_forward_bias=options.flag("mlp_bias", False),
        window=window,
        windowed=windowed,
    )


def _windows(options: Options, family: str, layers: int) -> tuple[int | None, Collection[int]]:
    """Return the size of the sliding window, and the blocks that have it."""
    if family == "llama":
        return None, ()
    if family == "mistral":
        return options.size_or_none("sliding_window"), range(layers)
    window = options.size_or_none("sliding_window")
    window = window if options.flag("use_sliding_window", False) else None
    first = options.size("max_window_layers", 28, least=0)
    kinds = options.value("layer_types")
    if kinds is None:
        return window, range(first, layers)
    known = "full_attention", "sliding_attention"
    if not isinstance(kinds, list) or len(kinds) != layers or not {*map(str, kinds)} <= {*known}:
        rule = f"layer_types must be a list of {layers} of {' and '.join(known)}"
        raise ValueError(f"{rule}; got {kinds!r}")
    windowed = [i for i, kind in enumerate(kinds) if kind == "sliding_attention"]
    if windowed and window is None:
        raise ValueError("layer_types must be full_attention without a sliding window; got sliding")
    return window, windowed


def _rotary(options: Options, d_head: int) -> Rotary:
    """Return the options of RoPE, which older files give at the top level and in rope_scaling."""
    older, newer = options.value("rope_scaling"), options.value("rope_parameters")
    if older and newer and older != newer:
        raise ValueError(f"rope_scaling must be rope_parameters, {newer}; got {older!r}")
    given = older or newer or {}
    if not isinstance(given, dict):
        raise ValueError(f"rope_parameters must be an object; got {given!r}")
    rope = Options(given, "rope_parameters")
    rope.set_defaults(
        {name: options.value(name) for name in ("rope_theta", "partial_rotary_factor")}
    )
    rope.only("partial_rotary_factor", 1.0, 1, None)
    rope.equal("type", "rope_type")  # the same in older files
    kind = rope.value("rope_type") or rope.value("type") or "default"
    if not isinstance(kind, str) or kind not in SCALINGS:
        raise ValueError(f"rope_type must be one of {', '.join(SCALINGS)}; got {kind!r}")
    length = options.size("max_position_embeddings")
    rotary = Rotary(rope.number("rope_theta", 10000.0), **SCALINGS[kind](rope, length))
    rope.nothing_left()
    if rotary.rotary_scaling is not None:  # called once, so that a wrong option is refused now
        dynamic = {"length": length} if rotary.dynamic_scaling else {}
        rotary.rotary_scaling(torch.ones(min(d_head // 2, 2)), **dynamic)
    return rotary


def _linear(rope: Options, length: int) -> dict[str, Any]:
    return {"rotary_scaling": partial(linear_scaling, factor=rope.number("factor"))}


def _dynamic(rope: Options, length: int) -> dict[str, Any]:
    scaling = partial(dynamic_ntk_scaling, factor=rope.number("factor"), original_length=length)
    return {"rotary_scaling": scaling, "dynamic_scaling": True}


def _yarn(rope: Options, length: int) -> dict[str, Any]:
    factor = rope.number("factor")
    attention_factor, scales = rope.value("attention_factor"), ("mscale", "mscale_all_dim")
    above, below = (rope.value(name) and rope.number(name) for name in scales)
    if attention_factor is not None:
        temperature = rope.number("attention_factor") ** -2
    elif above and below:  # as in DeepSeek's models
        temperature = yarn_temperature(factor**above) / yarn_temperature(factor**below)
    else:
        temperature = yarn_temperature(factor)
    scaling = partial(
        yarn_scaling,
        factor=factor,
        original_length=rope.size("original_max_position_embeddings", length),
        beta_fast=rope.number("beta_fast", 32.0),
        beta_slow=rope.number("beta_slow", 1.0),
        truncate=rope.flag("truncate", True),
    )
    return {"rotary_scaling": scaling, "temperature": temperature}


def _llama3(rope: Options, length: int) -> dict[str, Any]:
    scaling = partial(
        llama3_scaling,
        factor=rope.number("factor"),
        original_length=rope.size("original_max_position_embeddings", length),
        low=rope.number("low_freq_factor"),
        high=rope.number("high_freq_factor"),
    )
    return {"rotary_scaling": scaling}


SCALINGS = {
    "default": lambda rope, length: {},
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "llama3": _llama3,
}


def llama_names() -> dict[str, str]:
    """Return the names of the weights in the file by those in this book's modules."""
    return {
        "embedding": "model.embed_tokens",
        "norm": "model.norm",
        "unembedding": "lm_head",
        "blocks": "model.layers",
        "attention_norm": "input_layernorm",
        "attention.project_query": "self_attn.q_proj",
        "attention.project_key": "self_attn.k_proj",
        "attention.project_value": "self_attn.v_proj",
        "attention.project_output": "self_attn.o_proj",
        "attention.query_norm": "self_attn.q_norm",
        "attention.key_norm": "self_attn.k_norm",
        "feed_forward_norm": "post_attention_layernorm",
        "feed_forward.gate": "mlp.gate_proj",
        "feed_forward.expand": "mlp.up_proj",
        "feed_forward.contract": "mlp.down_proj",
    }
