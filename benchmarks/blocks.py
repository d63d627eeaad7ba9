"""One training step of a block, or of stacks, in 32 bits, beside PyTorch's with the same weights."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.blocks import DecoderBlock, DecoderStack, EncoderBlock, EncoderStack
from selfattn_book.pytorch import block_to_torch
from selfattn_book.pytorch_stacks import transformer_to_torch

Contenders = dict[str, Callable[[], object]]


def encoder_contenders(batch: int, length: int, d_model: int, num_heads: int) -> Contenders:
    """Return both encoders; the yardstick comes first."""
    torch.manual_seed(23)
    ours = EncoderBlock(d_model, num_heads)
    theirs = block_to_torch(ours)
    x = torch.randn(batch, length, d_model)
    return _steps(
        {
            "PyTorch's layer": (theirs, lambda: theirs(x)),
            "the book": (ours, lambda: ours(x, need_weights=False)[0]),
        }
    )


def decoder_contenders(batch: int, length: int, d_model: int, num_heads: int) -> Contenders:
    """Return both decoders, with a causal mask; the yardstick comes first."""
    torch.manual_seed(23)
    ours = DecoderBlock(d_model, num_heads)
    theirs = block_to_torch(ours)
    x, memory = torch.randn(2, batch, length, d_model)
    past = torch.ones(length, length, dtype=torch.bool).tril()
    future = ~past
    return _steps(
        {
            "PyTorch's layer": (theirs, lambda: theirs(x, memory, tgt_mask=future)),
            "the book": (ours, lambda: ours(x, memory, past, need_weights=False)[0]),
        }
    )


def transformer_contenders(batch: int, length: int, d_model: int, num_heads: int) -> Contenders:
    """Return stacks of three encoders and three decoders each; the yardstick comes first."""
    torch.manual_seed(23)
    sizes: dict[str, Any] = {"norm_first": True, "d_ff": 4 * d_model}
    encoder = EncoderStack(3, d_model, num_heads, **sizes)
    decoder = DecoderStack(3, d_model, num_heads, **sizes)
    ours = nn.ModuleList([encoder, decoder])
    theirs = transformer_to_torch(encoder, decoder)
    x, y = torch.randn(2, batch, length, d_model)
    past = torch.ones(length, length, dtype=torch.bool).tril()

    def whole() -> Tensor:
        memory, _ = encoder(x, need_weights=False)
        return decoder(y, memory, past, need_weights=False)[0]

    future = ~past
    return _steps(
        {
            "nn.Transformer": (theirs, lambda: theirs(x, y, tgt_mask=future)),
            "the book": (ours, whole),
        }
    )


def _steps(ways: dict[str, tuple[nn.Module, Callable[[], Tensor]]]) -> Contenders:
    """Make a training step of each way, after all have been seen to agree."""
    expected, *others = [forward() for _, forward in ways.values()]
    for output in others:
        torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-4)
    target = torch.randn_like(expected)

    def step(forward: Callable[[], Tensor], optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(forward(), target).backward()
        optimizer.step()

    contenders: Contenders = {}
    for name, (module, forward) in ways.items():
        adam = torch.optim.Adam(module.parameters(), lr=1e-4, fused=True)
        contenders[name] = partial(step, forward, adam)
    return contenders
