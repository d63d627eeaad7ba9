"""Weights copied between the book's blocks and PyTorch's layers, so that the two can be compared.

A copy spends no random numbers.
"""

from typing import Any

import torch
from torch import nn
from torch.nn.utils import skip_init

from selfattn_book.attention import MultiHeadAttention
from selfattn_book.conversion import from_torch, to_torch
from selfattn_book.transformer import DecoderBlock, EncoderBlock, Residual

# The parts of a block, and what PyTorch calls them.
ENCODER_PARTS = {
    "attention": "self_attn",
    "attention_path.norm": "norm1",
    "feed_forward.expand": "linear1",
    "feed_forward.contract": "linear2",
    "feed_forward_path.norm": "norm2",
}
DECODER_PARTS = {
    "self_attention": "self_attn",
    "self_attention_path.norm": "norm1",
    "cross_attention": "multihead_attn",
    "cross_attention_path.norm": "norm2",
    "feed_forward.expand": "linear1",
    "feed_forward.contract": "linear2",
    "feed_forward_path.norm": "norm3",
}


def encoder_to_torch(block: EncoderBlock) -> nn.TransformerEncoderLayer:
    """Return PyTorch's encoder layer with a copy of the weights of our block.

    Args:
        block: with narrow heads and biases, which is all that PyTorch's layer has.

    Returns:
        A layer with ``batch_first=True`` that gives the same states;
        of its masks, remember that ``True`` means *may not attend*.

    Raises:
        ValueError: the heads are wide, the attention has no biases, or parts of the block differ
            in ``dropout``, ``norm_first`` or from the usual ``eps``.

    Example:
        >>> ours, x = EncoderBlock(6, 2, norm_first=True), torch.ones(5, 3, 6).cumsum(1)
        >>> theirs = encoder_to_torch(ours)
        >>> theirs(x).allclose(ours(x)[0], atol=1e-6), theirs.norm_first
        (True, True)
        >>> encoder_to_torch(EncoderBlock(6, 2, attention_bias=False))
        Traceback (most recent call last):
        ValueError: PyTorch's layer needs an attention with biases; got one without
    """
    theirs = _layer_like(nn.TransformerEncoderLayer, block, block.attention)
    for ours, name in ENCODER_PARTS.items():
        _hand_over(block.get_submodule(ours), theirs, name)
    return theirs.train(block.training)


def encoder_from_torch(theirs: nn.TransformerEncoderLayer) -> EncoderBlock:
    """Return the book's encoder block with a copy of the weights of PyTorch's layer.

    Args:
        theirs: with biases and the activation ReLU; batch first or not; ours is always.

    Raises:
        TypeError: it is another layer.
        ValueError: it has another activation, no biases, several rates of dropout,
            or normalizes with another ``eps``.

    Example:
        >>> theirs = nn.TransformerEncoderLayer(6, 2, 24, dropout=0.0, batch_first=True)
        >>> x = torch.ones(5, 3, 6).cumsum(1)
        >>> encoder_from_torch(theirs)(x)[0].allclose(theirs(x), atol=1e-6)
        True
        >>> encoder_from_torch(nn.TransformerEncoderLayer(6, 2, activation=nn.ReLU())).training
        True
        >>> encoder_from_torch(nn.TransformerEncoderLayer(6, 2, activation="gelu"))
        Traceback (most recent call last):
        ValueError: the activation must be relu; got <built-in function gelu>
        >>> encoder_from_torch(nn.TransformerEncoderLayer(6, 2, bias=False))
        Traceback (most recent call last):
        ValueError: the layer must have biases; got one without
        >>> encoder_from_torch(nn.TransformerEncoderLayer(6, 2, layer_norm_eps=0.1))
        Traceback (most recent call last):
        ValueError: layer_norm_eps must be 1e-05; got 0.1
        >>> encoder_from_torch(nn.TransformerDecoderLayer(6, 2))
        Traceback (most recent call last):
        TypeError: the layer must be a TransformerEncoderLayer; got a TransformerDecoderLayer
    """
    _check_layer(theirs, nn.TransformerEncoderLayer)
    ours = _block_like(EncoderBlock, theirs)
    for name, part in ENCODER_PARTS.items():
        _hand_over(theirs.get_submodule(part), ours, name)
    return ours.train(theirs.training)


def decoder_to_torch(block: DecoderBlock) -> nn.TransformerDecoderLayer:
    """Return PyTorch's decoder layer with a copy of the weights of our block.

    Args:
        block: with narrow heads and biases, which is all that PyTorch's layer has.

    Returns:
        A layer with ``batch_first=True`` that gives the same states;
        of its masks, remember that ``True`` means *may not attend*.

    Raises:
        ValueError: the heads are wide, the attention has no biases, or parts of the block differ
            in ``dropout``, ``norm_first`` or from the usual ``eps``.

    Example:
        >>> ours, x = DecoderBlock(6, 2), torch.ones(5, 3, 6).cumsum(1)
        >>> decoder_to_torch(ours)(x, -x).allclose(ours(x, -x)[0], atol=1e-6)
        True
    """
    theirs = _layer_like(nn.TransformerDecoderLayer, block, block.self_attention)
    for ours, name in DECODER_PARTS.items():
        _hand_over(block.get_submodule(ours), theirs, name)
    return theirs.train(block.training)


def decoder_from_torch(theirs: nn.TransformerDecoderLayer) -> DecoderBlock:
    """Return the book's decoder block with a copy of the weights of PyTorch's layer.

    Args:
        theirs: with biases and the activation ReLU; batch first or not; ours is always.

    Raises:
        TypeError: it is another layer.
        ValueError: it has another activation, no biases, several rates of dropout,
            or normalizes with another ``eps``.

    Example:
        >>> theirs = nn.TransformerDecoderLayer(6, 2, 24, dropout=0.0, batch_first=True)
        >>> x = torch.ones(5, 3, 6).cumsum(1)
        >>> decoder_from_torch(theirs)(x, -x)[0].allclose(theirs(x, -x), atol=1e-6)
        True
    """
    _check_layer(theirs, nn.TransformerDecoderLayer)
    ours = _block_like(DecoderBlock, theirs)
    for name, part in DECODER_PARTS.items():
        _hand_over(theirs.get_submodule(part), ours, name)
    return ours.train(theirs.training)


def _layer_like(
    kind: Any, block: EncoderBlock | DecoderBlock, attention: MultiHeadAttention
) -> Any:
    """Return a layer of PyTorch's of the size of a block, with nothing drawn."""
    if attention.project_query.bias is None:
        raise ValueError(
            "PyTorch's layer needs an attention with biases; got one without"
        )
    _check_settings(block)
    expand = block.feed_forward.expand
    return skip_init(
        kind,
        expand.in_features,
        attention.num_heads,
        expand.out_features,
        block.feed_forward.dropout.p,
        batch_first=True,
        norm_first=block.feed_forward_path.norm_first,
        device=expand.weight.device,
        dtype=expand.weight.dtype,
    )


def _block_like(kind: Any, theirs: Any) -> Any:
    """Return a block of the size of a layer of PyTorch's, with nothing drawn."""
    like = theirs.linear1.weight
    with torch.device("meta"):  # where nothing is drawn
        ours = kind(
            theirs.linear1.in_features,
            theirs.self_attn.num_heads,
            d_ff=theirs.linear1.out_features,
            norm_first=theirs.norm_first,
            dropout=theirs.dropout.p,
        )
    return ours.to_empty(device=like.device).to(like.dtype)


def _check_layer(theirs: Any, kind: Any) -> None:
    """Raise unless the book has a block for a layer of PyTorch's."""
    if not isinstance(theirs, kind):
        rule = f"the layer must be a {kind.__name__}"
        raise TypeError(f"{rule}; got a {type(theirs).__name__}")
    activation = theirs.activation
    is_relu = activation in (nn.functional.relu, torch.relu)
    if not is_relu and not isinstance(activation, nn.ReLU):
        raise ValueError(f"the activation must be relu; got {activation}")
    if theirs.linear1.bias is None:
        raise ValueError("the layer must have biases; got one without")
    _check_settings(theirs)


def _check_settings(module: nn.Module) -> None:
    """Raise unless all parts of a block or layer are set alike, for a copy has one setting."""
    found: dict[str, set[Any]] = {"dropout": set(), "norm_first": set()}
    for part in module.modules():
        if isinstance(part, nn.LayerNorm) and part.eps != (
            eps := nn.LayerNorm(1).eps
        ):
            raise ValueError(f"layer_norm_eps must be {eps}; got {part.eps}")
        if isinstance(part, nn.Dropout):
            found["dropout"].add(part.p)
        if isinstance(part, MultiHeadAttention | nn.MultiheadAttention):
            found["dropout"].add(part.dropout)
        if isinstance(part, Residual):
            found["norm_first"].add(part.norm_first)
    for name, values in found.items():
        if len(values) > 1:
            got = " and ".join(map(str, sorted(values)))
            raise ValueError(f"all parts must have one {name}; got {got}")


def _hand_over(part: nn.Module, whole: nn.Module, name: str) -> None:
    """Put a copy of a part of one library into a whole of the other."""
    if isinstance(part, MultiHeadAttention):
        whole.set_submodule(name, to_torch(part))
    elif isinstance(part, nn.MultiheadAttention):
        whole.set_submodule(name, from_torch(part))
    else:
        copy = whole.get_submodule(name)
        copy.load_state_dict(part.state_dict())
        for parameter, like in zip(
            copy.parameters(), part.parameters(), strict=True
        ):
            parameter.requires_grad_(like.requires_grad)
