"""One attention of a sequence to itself, forward and backward, in 32 bits, in several ways."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.one_module_per_head import Heads, copy_heads
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.pytorch import to_torch

Attend = Callable[[Tensor], Tensor]


def contenders(
    batch: int, length: int, d_model: int, num_heads: int, *, repeat: int = 1
) -> dict[str, Callable[[], object]]:
    """Return the ways to attend that return no weights; the yardstick comes first."""
    ours = _drawn(d_model, num_heads)
    theirs, loop = to_torch(ours), _loop(ours)
    ways: dict[str, Attend] = {
        "nn.MultiheadAttention": lambda x: theirs(x, x, x, need_weights=False)[0],
        "raw kernel": lambda x: _raw(ours, x),
        "one module per head": lambda x: loop(x, x),
        "the book": lambda x: ours(x, x, x, need_weights=False)[0],
    }
    return _timed(ways, torch.randn(batch, length, d_model), repeat)


def contenders_with_weights(
    batch: int, length: int, d_model: int, num_heads: int, *, repeat: int = 1
) -> dict[str, Callable[[], object]]:
    """Return the ways to attend that return every head's weights as well."""
    ours = _drawn(d_model, num_heads)
    theirs = to_torch(ours)
    ways: dict[str, Attend] = {
        "nn.MultiheadAttention": lambda x: theirs(x, x, x, average_attn_weights=False)[0],
        "the book": lambda x: ours(x, x, x)[0],
    }
    return _timed(ways, torch.randn(batch, length, d_model), repeat)


def _drawn(d_model: int, num_heads: int) -> MultiHeadAttention:
    torch.manual_seed(23)
    return MultiHeadAttention(d_model, num_heads)


def _raw(ours: MultiHeadAttention, x: Tensor) -> Tensor:
    """Call PyTorch's kernel with our maps, and nothing else: no checks, no choice."""
    maps = ours.project_query, ours.project_key, ours.project_value
    shape = ours.num_heads, ours.d_head
    query, key, value = (m(x).unflatten(-1, shape).transpose(1, 2) for m in maps)
    context = F.scaled_dot_product_attention(query, key, value)
    return ours.project_output(context.transpose(1, 2).flatten(2))


def _loop(ours: MultiHeadAttention) -> Heads:
    width = ours.project_query.in_features
    loop = Heads(width, width, ours.num_heads, ours.d_head)
    copy_heads(ours, loop)
    return loop


def _timed(ways: dict[str, Attend], x: Tensor, repeat: int) -> dict[str, Callable[[], object]]:
    """Make a forward and a backward pass of each way, after all have been seen to agree."""
    x.requires_grad_()
    gradient = torch.randn_like(x)

    def both_passes(attend: Attend) -> tuple[Tensor, ...]:
        context = attend(x)
        return context, *torch.autograd.grad(context, x, gradient, retain_graph=False)

    expected, *others = [both_passes(attend) for attend in ways.values()]
    for passes in others:
        torch.testing.assert_close(passes, expected, rtol=1e-4, atol=1e-4)

    def timed(attend: Attend) -> None:
        for _ in range(repeat):
            attend(x).backward(gradient)

    return {name: partial(timed, way) for name, way in ways.items()}
