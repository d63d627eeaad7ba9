"""Weights copied to and from PyTorch's modules, to compare both implementations."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from selfattn_book.blocks import DecoderBlock, EncoderBlock, ResidualConnection
from selfattn_book.multi_head import MultiHeadAttention

# For each block, PyTorch's layer, and the layer's names for the block's parts.
LAYERS = {
    EncoderBlock: nn.TransformerEncoderLayer,
    DecoderBlock: nn.TransformerDecoderLayer,
}
PARTS = {
    EncoderBlock: {
        "attention": "self_attn",
        "attention_residual.norm": "norm1",
        "feed_forward.expand": "linear1",
        "feed_forward.contract": "linear2",
        "feed_forward_residual.norm": "norm2",
    },
    DecoderBlock: {
        "self_attention": "self_attn",
        "self_attention_residual.norm": "norm1",
        "cross_attention": "multihead_attn",
        "cross_attention_residual.norm": "norm2",
        "feed_forward.expand": "linear1",
        "feed_forward.contract": "linear2",
        "feed_forward_residual.norm": "norm3",
    },
}


def to_torch(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    """Return PyTorch's module with a copy of our weights.

    Args:
        attention: module with narrow heads, not grouped and not rotated, like PyTorch's.

    Returns:
        A module with ``batch_first=True``; in its masks, ``True`` means *may not attend*.

    Raises:
        ValueError: PyTorch's module cannot have such heads, or be frozen in such a part.

    Example:
        >>> ours, x = MultiHeadAttention(6, 2), torch.ones(5, 3, 6).cumsum(1)
        >>> theirs = to_torch(ours)
        >>> theirs(x, x, x)[0].allclose(ours(x, x, x)[0], atol=1e-6)
        True
    """
    d_model, d_input = attention.project_output.out_features, attention.project_query.in_features
    if not d_input == d_model == attention.num_heads * attention.d_head:
        rule = "PyTorch needs d_input = d_model = num_heads * d_head"
        heads = f"{attention.num_heads} * {attention.d_head}"
        raise ValueError(f"{rule}; got {d_input}, {d_model} and {heads}")
    grouped = attention.num_kv_heads != attention.num_heads
    if grouped or attention.rotary_base is not None:
        options = f"num_kv_heads {attention.num_kv_heads}, rotary_base {attention.rotary_base}"
        raise ValueError(f"PyTorch has neither grouped nor rotated heads; got {options}")
    normed = attention.query_norm is not None
    if normed or attention.window is not None or attention.temperature != 1:
        options = f"window {attention.window}, temperature {attention.temperature}"
        options = f"QK-norm, {options}" if normed else options
        raise ValueError(f"PyTorch has no QK-norm, window or temperature; got {options}")
    like = attention.project_query.weight
    theirs = skip_init(
        nn.MultiheadAttention,
        d_model,
        attention.num_heads,
        dropout=attention.dropout,
        bias=attention.project_query.bias is not None,
        batch_first=True,
        device=like.device,
        dtype=like.dtype,
    )
    parts = _parts(attention)
    _copy(parts, _torch_parts(theirs))
    _set_trained(list(theirs.parameters()), _trained_together(parts))
    return theirs.train(attention.training)


def from_torch(theirs: nn.MultiheadAttention) -> MultiHeadAttention:
    """Return the book's module with a copy of PyTorch's weights.

    Args:
        theirs: PyTorch's module, batch first or not; ours is always batch first.

    Raises:
        ValueError: keys or values have a different dimension, or a key is added.

    Example:
        >>> theirs, x = nn.MultiheadAttention(6, 2, batch_first=True), torch.ones(5, 3, 6).cumsum(1)
        >>> from_torch(theirs)(x, x, x)[0].allclose(theirs(x, x, x)[0], atol=1e-6)
        True
    """
    if not theirs.embed_dim == theirs.kdim == theirs.vdim:
        rule = f"kdim and vdim must equal embed_dim = {theirs.embed_dim}"
        raise ValueError(f"{rule}; got kdim = {theirs.kdim}, vdim = {theirs.vdim}")
    if theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError("there must be no added key; got add_bias_kv or add_zero_attn")
    like = theirs.in_proj_weight
    with torch.device("meta"):  # without random numbers
        ours = MultiHeadAttention(
            theirs.embed_dim,
            theirs.num_heads,
            bias=theirs.in_proj_bias is not None,
            dropout=theirs.dropout,
        )
    ours = ours.to_empty(device=like.device).to(like.dtype)
    _copy(_torch_parts(theirs), _parts(ours))
    trained = [parameter.requires_grad for parameter in theirs.parameters()]
    half = len(trained) // 2  # first the shared matrix and its bias, then the output projection's
    _set_trained(_parts(ours), [*trained[:half] * 3, *trained[half:]])
    return ours.train(theirs.training)


def block_to_torch(block: EncoderBlock | DecoderBlock) -> Any:
    """Return PyTorch's encoder or decoder layer with a copy of a block's weights.

    Args:
        block: block with narrow heads and biases, like PyTorch's layers.

    Returns:
        A layer with ``batch_first=True``; in its masks, ``True`` means *may not attend*.

    Raises:
        ValueError: PyTorch's layer cannot have the block's heads or settings.

    Example:
        >>> ours, x = EncoderBlock(6, 2, norm_first=True), torch.ones(5, 3, 6).cumsum(1)
        >>> theirs = block_to_torch(ours)
        >>> theirs(x).allclose(ours(x)[0], atol=1e-6), theirs.norm_first
        (True, True)
    """
    theirs = _layer_like(block)
    for name, torch_name in PARTS[type(block)].items():
        _copy_part(block.get_submodule(name), theirs, torch_name)
    return theirs.train(block.training)


def block_from_torch(theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> Any:
    """Return the book's encoder or decoder block with a copy of the weights of PyTorch's layer.

    Args:
        theirs: layer with biases and ReLU, batch first or not; ours is always batch first.

    Raises:
        TypeError: it is a different kind of module.
        ValueError: the book's block cannot have the layer's settings.

    Example:
        >>> theirs = nn.TransformerDecoderLayer(6, 2, 24, dropout=0.0, batch_first=True)
        >>> x = torch.ones(5, 3, 6).cumsum(1)
        >>> block_from_torch(theirs)(x, -x)[0].allclose(theirs(x, -x), atol=1e-6)
        True
    """
    ours = _block_like(theirs)
    for name, torch_name in PARTS[type(ours)].items():
        _copy_part(theirs.get_submodule(torch_name), ours, name)
    return ours.train(theirs.training)


def _parts(attention: MultiHeadAttention) -> list[Tensor]:
    """Return the weights and biases of the query, key, value and output projections."""
    linears = [attention.project_query, attention.project_key, attention.project_value]
    linears.append(attention.project_output)
    parts = [part for linear in linears for part in (linear.weight, linear.bias)]
    return [part for part in parts if part is not None]


def _torch_parts(theirs: nn.MultiheadAttention) -> list[Tensor]:
    """Return the same of PyTorch's module, which keeps three projections in one matrix."""
    weights = theirs.in_proj_weight.chunk(3)
    biases = [None] * 3 if theirs.in_proj_bias is None else theirs.in_proj_bias.chunk(3)
    parts = [part for pair in zip(weights, biases, strict=True) for part in pair]
    parts += [theirs.out_proj.weight, theirs.out_proj.bias]
    return [part for part in parts if part is not None]


@torch.no_grad()
def _copy(sources: list[Tensor], targets: list[Tensor]) -> None:
    for source, target in zip(sources, targets, strict=True):
        target.copy_(source)


def _trained_together(parts: list[Tensor]) -> list[bool]:
    """Return whether the shared matrix and the output projection are trained, or raise."""
    trained = [part.requires_grad for part in parts]
    kinds = len(parts) // 4  # with biases 2, without 1
    if trained[: 3 * kinds] != trained[:kinds] * 3:
        rule = "query, key and value projections must be all trained or all frozen"
        frozen = 3 * kinds - sum(trained[: 3 * kinds])
        raise ValueError(f"{rule}; got {frozen} of {3 * kinds} tensors frozen")
    return trained[:kinds] + trained[3 * kinds :]


def _set_trained(parts: list[Tensor], trained: list[bool]) -> None:
    for part, is_trained in zip(parts, trained, strict=True):
        part.requires_grad_(is_trained)


def _layer_like(block: EncoderBlock | DecoderBlock) -> Any:
    """Return an uninitialized layer of PyTorch's with a block's sizes and settings."""
    attention = block.attention if isinstance(block, EncoderBlock) else block.self_attention
    if attention.project_query.bias is None:
        raise ValueError("PyTorch's layer needs an attention with biases; got one without")
    if block.feed_forward.activation != "relu" or block.feed_forward.gate is not None:
        raise ValueError(f"PyTorch's layer needs ReLU without a gate; got {block.feed_forward}")
    _check_settings(block)
    expand = block.feed_forward.expand
    return skip_init(
        LAYERS[type(block)],
        expand.in_features,
        attention.num_heads,
        expand.out_features,
        block.feed_forward.dropout.p,
        batch_first=True,
        norm_first=block.feed_forward_residual.norm_first,
        device=expand.weight.device,
        dtype=expand.weight.dtype,
    )


def _block_like(theirs: Any) -> Any:
    """Return an uninitialized block with the sizes and settings of PyTorch's layer, or raise."""
    kinds = [kind for kind, layer in LAYERS.items() if isinstance(theirs, layer)]
    if not kinds:
        rule = "it must be a TransformerEncoderLayer or a TransformerDecoderLayer"
        raise TypeError(f"{rule}; got a {type(theirs).__name__}")
    activation, like = theirs.activation, theirs.linear1.weight
    is_relu = activation in (nn.functional.relu, torch.relu) or isinstance(activation, nn.ReLU)
    if not is_relu:
        raise ValueError(f"the activation must be relu; got {activation}")
    if theirs.linear1.bias is None:
        raise ValueError("the layer must have biases; got one without")
    _check_settings(theirs)
    with torch.device("meta"):  # without random numbers
        ours = kinds[0](
            theirs.linear1.in_features,
            theirs.self_attn.num_heads,
            d_ff=theirs.linear1.out_features,
            norm_first=theirs.norm_first,
            dropout=theirs.dropout.p,
        )
    return ours.to_empty(device=like.device).to(like.dtype)


def _check_settings(module: nn.Module) -> None:
    """Raise unless all parts of a block or layer have the same settings, as a copy has."""
    found: dict[str, set[Any]] = {"dropout": set(), "norm_first": set()}
    for part in module.modules():
        if isinstance(part, nn.LayerNorm) and part.eps != (eps := nn.LayerNorm(1).eps):
            raise ValueError(f"layer_norm_eps must be {eps}; got {part.eps}")
        if isinstance(part, nn.Dropout):
            found["dropout"].add(part.p)
        if isinstance(part, MultiHeadAttention | nn.MultiheadAttention):
            found["dropout"].add(part.dropout)
        if isinstance(part, ResidualConnection):
            found["norm_first"].add(part.norm_first)
    for name, values in found.items():
        if len(values) > 1:
            got = " and ".join(map(str, sorted(values)))
            raise ValueError(f"all parts must have one {name}; got {got}")


def _copy_part(part: nn.Module, target: nn.Module, name: str) -> None:
    """Set a submodule to a copy of the other library's corresponding part."""
    if isinstance(part, MultiHeadAttention):
        target.set_submodule(name, to_torch(part))
    elif isinstance(part, nn.MultiheadAttention):
        target.set_submodule(name, from_torch(part))
    else:
        copy = target.get_submodule(name)
        copy.load_state_dict(part.state_dict())
        for parameter, like in zip(copy.parameters(), part.parameters(), strict=True):
            parameter.requires_grad_(like.requires_grad)
