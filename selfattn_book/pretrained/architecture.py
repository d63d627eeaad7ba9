"""What a configuration says of a model's computation, and the model that follows from it."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from selfattn_book.blocks import PreNormBlock
from selfattn_book.feed_forward import FeedForward
from selfattn_book.language import LanguageModel
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.rotary import Scaling


@dataclass(frozen=True)
class Rotary:
    """The options of RoPE, as :class:`~selfattn_book.multi_head.MultiHeadAttention` takes them."""

    rotary_base: float = 10000.0
    rotary_scaling: Scaling | None = None
    dynamic_scaling: bool = False
    temperature: float = 1.0


@dataclass(frozen=True)
class Architecture:
    """The options of a decoder-only model that change its logits.

    Attributes:
        context_length: number of learned position embeddings; none with RoPE.
        qk_norm: normalize each query and key by RMSNorm.
        window: number of keys under a sliding window, in the blocks ``windowed``.
        norm: class of all norms, ``nn.LayerNorm`` or ``nn.RMSNorm``.
    """

    vocab_size: int
    d_model: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    d_head: int
    d_ff: int
    norm: type[nn.Module]
    eps: float
    activation: str
    gated: bool
    tie_weights: bool
    context_length: int | None = None
    rotary: Rotary | None = None
    qk_norm: bool = False
    query_bias: bool = False  # of keys and values as well
    output_bias: bool = False
    feed_forward_bias: bool = False
    window: int | None = None
    windowed: Collection[int] = ()


def build(architecture: Architecture) -> LanguageModel:
    """Build an untrained model on the meta device: shapes without numbers.

    Raises:
        TypeError, ValueError: sizes do not fit each other.

    Example:
        >>> sizes = {"vocab_size": 7, "d_model": 6, "num_layers": 1, "num_heads": 2, "d_ff": 5}
        >>> sizes |= {"num_kv_heads": 1, "d_head": 4, "activation": "silu", "gated": True}
        >>> sizes |= {"tie_weights": True, "rotary": Rotary()}
        >>> model = build(Architecture(**sizes, norm=nn.RMSNorm, eps=1e-6))
        >>> model.blocks[0].attention.project_key
        Linear(in_features=6, out_features=4, bias=False)
    """
    a, norm = architecture, partial(architecture.norm, eps=architecture.eps)
    rotary = {} if a.rotary is None else vars(a.rotary)

    def block(i: int) -> PreNormBlock:
        attention = MultiHeadAttention(
            a.d_model,
            a.num_heads,
            num_kv_heads=a.num_kv_heads,
            d_head=a.d_head,
            bias=a.query_bias,
            qk_norm=norm if a.qk_norm else None,
            window=a.window if i in a.windowed else None,
            **rotary,
        )
        attention.project_output = nn.Linear(a.num_heads * a.d_head, a.d_model, a.output_bias)
        feed_forward = FeedForward(
            a.d_model, a.d_ff, activation=a.activation, gated=a.gated, bias=a.feed_forward_bias
        )
        return PreNormBlock(attention, feed_forward, (norm(a.d_model), norm(a.d_model)))

    with torch.device("meta"):
        return LanguageModel(
            nn.Embedding(a.vocab_size, a.d_model),
            [block(i) for i in range(a.num_layers)],
            norm(a.d_model),
            positions=nn.Embedding(a.context_length, a.d_model) if a.context_length else None,
            tie_weights=a.tie_weights,
        )
