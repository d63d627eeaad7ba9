"""Stacks of blocks copied to and from PyTorch's Transformer, to compare both implementations.

A copy uses no random numbers.
"""

from copy import deepcopy
from typing import Any, cast

import torch
from torch import nn

from selfattn_book.blocks import DecoderBlock, DecoderStack, EncoderBlock, EncoderStack
from selfattn_book.pytorch import block_from_torch, block_to_torch


def transformer_to_torch(encoder: EncoderStack, decoder: DecoderStack) -> nn.Transformer:
    """Return PyTorch's Transformer with a copy of the weights of two stacks.

    Like the stacks, PyTorch's Transformer has no token embeddings.

    Args:
        encoder: stack with narrow heads and biases, like PyTorch's layers.
        decoder: stack of the same dimension.

    Returns:
        A module with ``batch_first=True``, and with final norms only if the stacks have them.
        In its masks, ``True`` means *may not attend*.

    Raises:
        ValueError: the dimensions differ, or PyTorch cannot have a block's settings.

    Example:
        >>> encoder, decoder = EncoderStack(3, 6, 2), DecoderStack(2, 6, 2)
        >>> source, target = torch.ones(5, 7, 6).cumsum(1), torch.ones(5, 4, 6).cumsum(2)
        >>> theirs, (memory, _) = transformer_to_torch(encoder, decoder), encoder(source)
        >>> theirs(source, target).allclose(decoder(target, memory)[0], atol=1e-6)
        True
    """
    layers = [block_to_torch(cast("EncoderBlock", x)) for x in encoder.blocks]
    other_layers = [block_to_torch(cast("DecoderBlock", x)) for x in decoder.blocks]
    dimensions = layers[0].linear1.in_features, other_layers[0].linear1.in_features
    if dimensions[0] != dimensions[1]:
        rule = "encoder and decoder must have one d_model"
        raise ValueError(f"{rule}; got {dimensions[0]} and {dimensions[1]}")
    # The constructor would initialize the layers again, so they are set afterwards.
    theirs = nn.Transformer(
        dimensions[0],
        layers[0].self_attn.num_heads,
        batch_first=True,
        custom_encoder=nn.Identity(),
        custom_decoder=nn.Identity(),
    )
    theirs.encoder = _chain(nn.TransformerEncoder, layers, encoder.norm)
    theirs.decoder = _chain(nn.TransformerDecoder, other_layers, decoder.norm)
    return theirs.train(decoder.training)


def transformer_from_torch(theirs: nn.Transformer) -> tuple[EncoderStack, DecoderStack]:
    """Return the book's two stacks with a copy of the weights of PyTorch's Transformer.

    Args:
        theirs: Transformer with biases and ReLU, batch first or not; ours are always batch first.

    Returns:
        Encoder and decoder, with final norms where PyTorch's Transformer has them.

    Raises:
        TypeError: it is not a Transformer of PyTorch's.
        ValueError: the book's blocks cannot have a layer's settings.

    Example:
        >>> theirs = nn.Transformer(6, 2, 3, 2, 24, dropout=0.0, batch_first=True)
        >>> encoder, decoder = transformer_from_torch(theirs)
        >>> source, target = torch.ones(5, 7, 6).cumsum(1), torch.ones(5, 4, 6).cumsum(2)
        >>> states, *_ = decoder(target, encoder(source)[0])
        >>> states.allclose(theirs(source, target), atol=1e-6)
        True
    """
    if not isinstance(theirs, nn.Transformer):
        raise TypeError(f"it must be a Transformer; got a {type(theirs).__name__}")
    encoder = _stack(EncoderStack, theirs.encoder)
    decoder = _stack(DecoderStack, theirs.decoder)
    return encoder.train(theirs.training), decoder.train(theirs.training)


def _chain(kind: Any, layers: list[Any], norm: nn.Module) -> Any:
    """Return PyTorch's stack of these layers, with a copy of the final norm."""
    last = deepcopy(norm) if isinstance(norm, nn.LayerNorm) else None
    options = {"enable_nested_tensor": False} if kind is nn.TransformerEncoder else {}
    with torch.device("meta"):
        chain = kind(layers[0], 1, **options)
    chain.layers, chain.num_layers, chain.norm = nn.ModuleList(layers), len(layers), last
    return chain


def _stack(kind: Any, theirs: Any) -> Any:
    """Return the book's stack with copies of the weights and of the final norm."""
    blocks = [block_from_torch(layer) for layer in theirs.layers]
    with torch.device("meta"):  # without random numbers
        stack = kind(1, 1, 1)
    stack.blocks = nn.ModuleList(blocks)
    stack.norm = nn.Identity() if theirs.norm is None else deepcopy(theirs.norm)
    return stack
