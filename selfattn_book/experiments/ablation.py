"""Ablation: remove one kind of part from a model, to test whether a result needs it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.blocks import ResidualConnection
from selfattn_book.feed_forward import FeedForward
from selfattn_book.multi_head import MultiHeadAttention


class NoAttention(nn.Module):
    """An ablated attention, whose output is zero."""

    def forward(self, query: Tensor, *rest: Any, **options: Any) -> tuple[Tensor, None]:
        """Return zeros of the shape of the query, and no weights."""
        return torch.zeros_like(query), None


class NoFeedForward(nn.Module):
    """An ablated feed-forward network, whose output is zero."""

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros of the same shape."""
        return torch.zeros_like(x)


class NoResidual(nn.Module):
    r"""An ablated residual connection: the output of a part replaces its input.

    .. math::
       \begin{aligned}
       \text{pre-norm:} \quad y &= f\big(\operatorname{LayerNorm}(x)\big) \\
       \text{post-norm:} \quad y &= \operatorname{LayerNorm}\big(f(x)\big)
       \end{aligned}
    """

    def __init__(self, path: ResidualConnection) -> None:
        super().__init__()
        self.path = path

    def before(self, x: Tensor) -> Tensor:
        """Return the input of the part."""
        return self.path.before(x)

    def after(self, x: Tensor, change: Tensor) -> Tensor:
        """Return the output of the part, as if the input had been zero."""
        return self.path.after(torch.zeros_like(change), change)


# The kinds of parts, and how to make the ablated module from a part.
ABLATIONS: dict[str, tuple[type[nn.Module], Callable[[Any], nn.Module]]] = {
    "attention": (MultiHeadAttention, lambda attention: NoAttention()),
    "feed-forward": (FeedForward, lambda feed_forward: NoFeedForward()),
    "residual": (ResidualConnection, NoResidual),
    "norm": (nn.LayerNorm, lambda norm: nn.Identity()),
}


def without(model: nn.Module, *parts: str) -> nn.Module:
    """Remove each ``attention``, ``feed-forward``, ``residual`` or ``norm``, in place; return the model.

    The rest keeps its parameters, so a model and its ablations start from the same numbers.

    Raises:
        ValueError: the model has no such part.

    Example:
        >>> from selfattn_book.blocks import EncoderBlock
        >>> block, x = EncoderBlock(6, 2, norm_first=True), torch.ones(5, 3, 6).cumsum(1)
        >>> without(block, "attention", "feed-forward")(x)[0].equal(x)   # the residual stream is left
        True
    """
    for part in parts:
        kind, make = ABLATIONS[part]
        found = [
            (owner, name, child)
            for owner in model.modules()
            for name, child in owner.named_children()
            if isinstance(child, kind)
        ]
        if not found:
            got = f"no {part} in {type(model).__name__}"
            raise ValueError(f"the model must have the part; got {got}")
        for owner, name, child in found:
            setattr(owner, name, make(child))
    return model
