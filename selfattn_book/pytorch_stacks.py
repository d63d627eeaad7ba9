"""Whole stacks of blocks copied to and from PyTorch's Transformer, to compare the two.

A copy spends no random numbers.
"""

from copy import deepcopy
from typing import Any, cast

import torch
from torch import nn

from selfattn_book.pytorch import (
    decoder_from_torch,
    decoder_to_torch,
    encoder_from_torch,
    encoder_to_torch,
)
from selfattn_book.transformer import (
    DecoderBlock,
    DecoderStack,
    EncoderBlock,
    EncoderStack,
)


def transformer_to_torch(
    encoder: EncoderStack, decoder: DecoderStack
) -> nn.Transformer:
    """Return PyTorch's Transformer with a copy of the weights of two stacks.

    PyTorch's has no tokens: it goes from vectors to vectors, as the stacks do.

    Args:
        encoder: with narrow heads and biases, which is all that PyTorch's layers have.
        decoder: the same, of the width of the encoder.

    Returns:
        A :class:`torch.nn.Transformer` with ``batch_first=True`` that gives the decoder's states.
        Of its masks, remember that ``True`` means *may not attend*. It has a norm behind its last
        layers only where the stacks have one, unlike the one that PyTorch makes by itself.

    Raises:
        ValueError: the stacks differ in width, or as of
            :func:`~selfattn_book.pytorch.encoder_to_torch`.

    Example:
        >>> encoder, decoder = EncoderStack(3, 6, 2), DecoderStack(2, 6, 2)
        >>> source, target = torch.ones(5, 7, 6).cumsum(1), torch.ones(5, 4, 6).cumsum(2)
        >>> theirs, (memory, _) = transformer_to_torch(encoder, decoder), encoder(source)
        >>> theirs(source, target).allclose(decoder(target, memory)[0], atol=1e-6)
        True
        >>> transformer_to_torch(encoder, DecoderStack(2, 4, 2))
        Traceback (most recent call last):
        ValueError: encoder and decoder must be of one width; got 6 and 4
    """
    layers = [encoder_to_torch(cast("EncoderBlock", x)) for x in encoder.blocks]
    other_layers = [
        decoder_to_torch(cast("DecoderBlock", x)) for x in decoder.blocks
    ]
    widths = layers[0].linear1.in_features, other_layers[0].linear1.in_features
    if widths[0] != widths[1]:
        rule = "encoder and decoder must be of one width"
        raise ValueError(f"{rule}; got {widths[0]} and {widths[1]}")
    # Layers that its constructor is given are drawn anew by it, so they come later.
    theirs = nn.Transformer(
        widths[0],
        layers[0].self_attn.num_heads,
        batch_first=True,
        custom_encoder=nn.Identity(),
        custom_decoder=nn.Identity(),
    )
    theirs.encoder = _chain(nn.TransformerEncoder, layers, encoder.norm)
    theirs.decoder = _chain(nn.TransformerDecoder, other_layers, decoder.norm)
    return theirs.train(decoder.training)


def transformer_from_torch(
    theirs: nn.Transformer,
) -> tuple[EncoderStack, DecoderStack]:
    """Return the book's two stacks with a copy of the weights of PyTorch's Transformer.

    Args:
        theirs: with biases and the activation ReLU; batch first or not; ours are always.

    Returns:
        Encoder and decoder. They have a norm behind their last blocks where PyTorch's has one,
        which it has by itself in post-norm, too.

    Raises:
        TypeError: it is no Transformer of PyTorch's.
        ValueError: as of :func:`~selfattn_book.pytorch.encoder_from_torch`.

    Example:
        >>> theirs = nn.Transformer(6, 2, 3, 2, 24, dropout=0.0, batch_first=True)
        >>> encoder, decoder = transformer_from_torch(theirs)
        >>> source, target = torch.ones(5, 7, 6).cumsum(1), torch.ones(5, 4, 6).cumsum(2)
        >>> states, *_ = decoder(target, encoder(source)[0])
        >>> states.allclose(theirs(source, target), atol=1e-6)
        True
        >>> encoder.norm, len(encoder.blocks), len(decoder.blocks)   # post-norm, and yet a norm
        (LayerNorm((6,), ...), 3, 2)
        >>> transformer_from_torch(nn.Linear(1, 1))
        Traceback (most recent call last):
        TypeError: it must be a Transformer; got a Linear
    """
    if not isinstance(theirs, nn.Transformer):
        raise TypeError(f"it must be a Transformer; got a {type(theirs).__name__}")
    encoder = _stack(EncoderStack, theirs.encoder, encoder_from_torch)
    decoder = _stack(DecoderStack, theirs.decoder, decoder_from_torch)
    return encoder.train(theirs.training), decoder.train(theirs.training)


def _chain(kind: Any, layers: list[Any], norm: nn.Module) -> Any:
    """Return PyTorch's stack of these very layers, and a copy of the norm behind them."""
    last = deepcopy(norm) if isinstance(norm, nn.LayerNorm) else None
    options = (
        {"enable_nested_tensor": False} if kind is nn.TransformerEncoder else {}
    )
    with torch.device("meta"):
        chain = kind(layers[0], 1, **options)
    chain.layers, chain.num_layers, chain.norm = (
        nn.ModuleList(layers),
        len(layers),
        last,
    )
    return chain


def _stack(kind: Any, theirs: Any, from_torch: Any) -> Any:
    """Return the book's stack of blocks with copies of the weights, and of the norm behind them."""
    blocks = [from_torch(layer) for layer in theirs.layers]
    with torch.device("meta"):  # where nothing is drawn
        stack = kind(1, 1, 1)
    stack.blocks = nn.ModuleList(blocks)
    stack.norm = nn.Identity() if theirs.norm is None else deepcopy(theirs.norm)
    return stack
