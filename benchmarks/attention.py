"""One attention of a sequence to itself, forward and backward, in 32 bits, in several ways."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.contenders import Contenders, assert_agreement
from benchmarks.one_module_per_head import Heads
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.pytorch import to_torch

Attend = Callable[[Tensor], Tensor]


def contenders(
    batch: int,
    length: int,
    d_model: int,
    num_heads: int,
    *,
    repeat: int = 1,
    weights: bool = False,
) -> Contenders:
    """Return the ways to attend, with or without each head's weights; PyTorch's comes first."""
    torch.manual_seed(23)
    ours = MultiHeadAttention(d_model, num_heads)
    theirs, loop = to_torch(ours), Heads(ours)
    ways: dict[str, Attend] = {
        "nn.MultiheadAttention": lambda x: theirs(x, x, x, need_weights=False)[0],
        "raw kernel": lambda x: with_kernel(ours, x, F.scaled_dot_product_attention),
        "one module per head": lambda x: loop(x, x, x)[0],
        "the book": lambda x: ours(x, x, x, need_weights=False)[0],
    }
    if weights:
        ways = {
            "nn.MultiheadAttention": lambda x: theirs(x, x, x, average_attn_weights=False)[0],
            "the book": lambda x: ours(x, x, x)[0],
        }
    x = torch.randn(batch, length, d_model, requires_grad=True)
    gradient = torch.randn_like(x)

    def both_passes(attend: Attend) -> tuple[Tensor, ...]:
        context = attend(x)
        return context, *torch.autograd.grad(context, x, gradient)

    def timed(attend: Attend) -> None:
        for _ in range(repeat):
            attend(x).backward(gradient)

    passes = {name: partial(both_passes, way) for name, way in ways.items()}
    assert_agreement(passes, rtol=1e-4, atol=1e-4)
    return {name: partial(timed, way) for name, way in ways.items()}


def with_kernel(ours: MultiHeadAttention, x: Tensor, kernel: Callable[..., Tensor]) -> Tensor:
    """Apply the projections of a module and a kernel of attention, without any checks."""
    projections = ours.project_query, ours.project_key, ours.project_value
    heads = -1, ours.d_head
    query, key, value = (p(x).unflatten(-1, heads).transpose(1, 2) for p in projections)
    return ours.project_output(kernel(query, key, value).transpose(1, 2).flatten(2))
