"""One training step of a block, or of stacks, in 32 bits, beside PyTorch's with the same weights."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.contenders import Contenders, training_steps
from selfattn_book.blocks import DecoderBlock, DecoderStack, EncoderBlock, EncoderStack
from selfattn_book.masks import causal_mask
from selfattn_book.pytorch import block_to_torch
from selfattn_book.pytorch_stacks import transformer_to_torch


def block_contenders(
    kind: type[EncoderBlock] | type[DecoderBlock], sizes: tuple[int, int, int, int]
) -> Contenders:
    """Return both blocks of sizes ``(B, T, D, H)``, the decoder's causal; PyTorch's comes first."""
    batch, length, d_model, num_heads = sizes
    torch.manual_seed(23)
    ours, mask = kind(d_model, num_heads), causal_mask(length)
    theirs: Any = block_to_torch(ours)
    x, memory, target = torch.randn(3, batch, length, d_model)
    is_decoder = isinstance(ours, DecoderBlock)
    given = (x, memory, mask) if is_decoder else (x,)
    theirs_given = (x, memory, ~mask) if is_decoder else (x,)
    ways = {
        "PyTorch's layer": (theirs, lambda: theirs(*theirs_given)),
        "the book": (ours, lambda: ours(*given, need_weights=False)[0]),
    }
    return training_steps(ways, partial(nn.functional.mse_loss, target=target))


def transformer_contenders(batch: int, length: int, d_model: int, num_heads: int) -> Contenders:
    """Return stacks of three encoder and three decoder blocks each; PyTorch's comes first."""
    torch.manual_seed(23)
    sizes: dict[str, Any] = {"norm_first": True, "d_ff": 4 * d_model}
    encoder = EncoderStack(3, d_model, num_heads, **sizes)
    decoder = DecoderStack(3, d_model, num_heads, **sizes)
    theirs, mask = transformer_to_torch(encoder, decoder), causal_mask(length)
    x, y, target = torch.randn(3, batch, length, d_model)

    def ours() -> Tensor:
        memory, _ = encoder(x, need_weights=False)
        return decoder(y, memory, mask, need_weights=False)[0]

    ways = {
        "nn.Transformer": (theirs, lambda: theirs(x, y, tgt_mask=~mask)),
        "the book": (nn.ModuleList([encoder, decoder]), ours),
    }
    return training_steps(ways, partial(nn.functional.mse_loss, target=target))
