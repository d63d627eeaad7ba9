"""Take one kind of part out of a model, to find out whether a result needs it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.blocks import ResidualConnection
from selfattn_book.feed_forward import FeedForward
from selfattn_book.multi_head import MultiHeadAttention


class NoAttention(nn.Module):
    """Find nothing anywhere.

    Example:
        >>> context, weights = NoAttention()(torch.ones(5, 3, 2), *[torch.ones(5, 7, 2)] * 2)
        >>> context.equal(torch.zeros(5, 3, 2)), weights
        (True, None)
    """

    def forward(self, query: Tensor, *rest: Any, **options: Any) -> tuple[Tensor, None]:
        """Return zeros of the shape of the query, and no weights."""
        return torch.zeros_like(query), None


class NoFeedForward(nn.Module):
    """Make nothing of each position.

    Example:
        >>> NoFeedForward()(torch.ones(3, 2)).equal(torch.zeros(3, 2))
        True
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros of the same shape."""
        return torch.zeros_like(x)


class NoResidual(nn.Module):
    r"""Put what a part makes of an input into the input's place, and normalize as before.

    .. math::
       \begin{aligned}
       \text{pre-norm:} \quad y &= f\big(\operatorname{LayerNorm}(x)\big) \\
       \text{post-norm:} \quad y &= \operatorname{LayerNorm}\big(f(x)\big)
       \end{aligned}

    Args:
        path: the residual path that is taken away.

    Example:
        >>> path = ResidualConnection(2, norm_first=True)
        >>> x, change = torch.tensor([[3.0, 1.0]]), torch.tensor([[30.0, 10.0]])
        >>> path.after(x, change), NoResidual(path).after(x, change)
        (tensor([[33., 11.]]), tensor([[30., 10.]]))
        >>> NoResidual(path).before(x).equal(path.before(x))
        True
    """

    def __init__(self, path: ResidualConnection) -> None:
        super().__init__()
        self.path = path

    def before(self, x: Tensor) -> Tensor:
        """Return what the part shall read."""
        return self.path.before(x)

    def after(self, x: Tensor, change: Tensor) -> Tensor:
        """Return what the part has made, as if the input had been zero."""
        return self.path.after(torch.zeros_like(change), change)


# What can be taken out of a model: its kind, and what makes the stand-in from it.
ABLATIONS: dict[str, tuple[type[nn.Module], Callable[[Any], nn.Module]]] = {
    "attention": (MultiHeadAttention, lambda attention: NoAttention()),
    "feed-forward": (FeedForward, lambda feed_forward: NoFeedForward()),
    "residual": (ResidualConnection, NoResidual),
    "norm": (nn.LayerNorm, lambda norm: nn.Identity()),
}


def without(model: nn.Module, *parts: str) -> nn.Module:
    """Take one kind of part out of a model, wherever it is, and return the model.

    What is left keeps its parameters, so a model and its ablations start from the same numbers.

    Args:
        model: is changed.
        parts: any of ``attention``, ``feed-forward``, ``residual`` and ``norm``.

    Raises:
        ValueError: there is no such kind of part, or the model has none.

    Example:
        >>> from selfattn_book.blocks import EncoderBlock
        >>> block, x = EncoderBlock(6, 2, norm_first=True), torch.ones(5, 3, 6).cumsum(1)
        >>> without(block, "attention")(x)[0].equal(x)
        False
        >>> without(block, "feed-forward")(x)[0].equal(x)   # only the path is left
        True
    """
    for part in parts:
        if part not in ABLATIONS:
            raise ValueError(f"parts must be {', '.join(ABLATIONS)}; got {part}")
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
