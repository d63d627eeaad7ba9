"""A feed-forward network at each position, its misconceptions, and probes that find them.

A network with a hidden dimension of 1 is probed along straight lines of points. Attention to one
point alone is linear, so the outputs along a line are two straight pieces: one moves, one is constant.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.linalg import matrix_rank

from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.probes import D_MODEL, Modules, Probe, variant
from selfattn_book.properties.answer import Answer, RefusedError

LINES, FAR, SEEDS = 8, 100.0, range(5)
RANK = 1e-3  # tolerance of a rank
PATTERNS = (  # what outputs do along lines where they are wrong: the first that holds
    "are all the same",
    "are never negative",
    "all have variance 1",
    "have no kink",
    "have no kink, but are curved",
    "hardly move far out",
    "have more than one kink",
    "move in more than one direction",
    "move on both sides of a kink; on one the unit is 0",
)


def plain(x: Tensor) -> Tensor:
    """Return the input."""
    return x


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, in parts that a misconception replaces."""

    before = after = staticmethod(plain)
    inside = staticmethod(torch.relu)
    extra: ClassVar[dict[str, Callable[[int, int], nn.Module | nn.Parameter]]] = {}

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.wide, self.back = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        for name, make in self.extra.items():
            setattr(self, name, make(d_model, d_ff))

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.back(self.inside(self.wide(self.before(x)))))


class PlainList(nn.Module):
    """Keep the layers in a plain list."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.layers = [nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)]

    def forward(self, x: Tensor) -> Tensor:
        return self.layers[1](self.layers[0](x).relu())


def with_functions(**functions: Callable[[Tensor], Tensor]) -> type:
    """Return a network with other functions before, between or after its layers."""
    return variant(FeedForward, **{name: staticmethod(f) for name, f in functions.items()})


def with_layer(layer: Callable[[int, int], Any], **parts: Any) -> type:
    """Return a network with one more layer, ``more``."""
    return variant(FeedForward, extra={"more": layer}, **parts)


WRONG: dict[str, type] = {
    "The hidden dimension does not follow d_ff.": variant(
        FeedForward, __init__=lambda self, d, d_ff: FeedForward.__init__(self, d, 4 * d)
    ),
    "Layers in a plain list are not found by PyTorch: `nn.ModuleList` is.": PlainList,
    "There is no feed-forward network after the attention.": nn.Identity,
    "The two linear layers share their weight.": variant(
        FeedForward,
        forward=lambda self, x: self.wide(x).relu() @ self.wide.weight + self.back,
        extra={"back": lambda d, d_ff: nn.Parameter(torch.zeros(d))},
    ),
    "There is one attention too many.": with_layer(
        lambda d, d_ff: nn.MultiheadAttention(d, 2),
        before=lambda self, x: self.more(*[x.reshape(1, -1, D_MODEL)] * 3)[0].view_as(x),
    ),
    "A linear layer from d_model to d_model is one too many.": with_layer(
        lambda d, d_ff: nn.Linear(d, d), before=lambda self, x: self.more(x)
    ),
    "The feed-forward network has one layer too many.": with_layer(
        lambda d, d_ff: nn.Linear(d_ff, d_ff), inside=lambda self, x: self.more(x).relu()
    ),
    "A linear layer of the feed-forward network has no bias.": variant(
        FeedForward, extra={"wide": lambda d, d_ff: nn.Linear(d, d_ff, bias=False)}
    ),
    "There are other parameters, such as those of a norm, that the equation does not have.": with_layer(
        lambda d, d_ff: nn.Parameter(torch.ones(d)), before=lambda self, x: self.more * x
    ),
    "Two linear layers without a ReLU between them are one.": with_functions(inside=plain),
    "A ReLU comes last: the second linear layer should.": (
        with_functions(inside=plain, after=torch.relu)
    ),
    "A ReLU comes before the first linear layer: it belongs between the two.": (
        with_functions(inside=plain, before=torch.relu)
    ),
    "An activation other than ReLU makes a smooth curve, without a kink.": (
        with_functions(inside=F.gelu)
    ),
    "A norm comes last.": with_layer(
        lambda d, d_ff: nn.LayerNorm(d), after=lambda self, x: self.more(x)
    ),
    "A norm comes before the feed-forward network: for large inputs, its outputs do not grow.": (
        with_layer(lambda d, d_ff: nn.LayerNorm(d), before=lambda self, x: self.more(x))
    ),
    "There is a residual connection around the feed-forward network.": variant(
        FeedForward, forward=lambda self, x: x + FeedForward.forward(self, x)
    ),
    "The unit is never 0: negative numbers are made smaller, as by a leaky ReLU.": (
        with_functions(inside=F.leaky_relu)
    ),
}


def pattern(run: Callable[[Tensor, int], Tensor]) -> str:
    """Return in which way the outputs of networks with one hidden unit are wrong, if they are.

    Args:
        run: returns the outputs of points, ``(N, 1, D)`` to ``(N, D)``, for a seed.
    """
    near, far = torch.linspace(-4, 4, 161), FAR * torch.tensor([-2, -1, 1, 2])
    start, along = drawn(2, LINES, 1, D_MODEL, seed=4)
    points = start + torch.cat([far, near])[:, None].to(start) * along  # (lines, steps, D)
    every = torch.stack([run(points.view(-1, 1, D_MODEL), seed) for seed in SEEDS])
    if every.dtype.itemsize < 4 or not every.isfinite().all():
        rule = "where there is one point alone, outputs must be finite and of 32 bits at least"
        raise RefusedError(Answer("mathematics", f"{rule}."))
    found = every.double().unflatten(1, (LINES, -1))  # (networks, lines, steps, D)
    (a, b, c, d), close = found[:, :, :4].unbind(2), found[:, :, 4:]
    ends = torch.stack([b - a, d - c], 2) / FAR  # slopes
    steps = close.diff(dim=2) / (near[1] - near[0])
    size = steps.norm(dim=-1).amax((1, 2))[:, None].clamp(min=1e-3)  # of each network
    moves = ends.norm(dim=-1) > 0.002 * size[..., None]  # (networks, lines, 2)
    corners = steps.diff(dim=2).norm(dim=-1).amax(-1) > 0.2 * size
    straight = (ends[:, :, 0] - ends[:, :, 1]).norm(dim=-1) < 0.002 * size
    pieces = (
        point[:, :, None] + (near - at)[:, None].to(found) * slope[:, :, None]
        for point, at, slope in ((b, -FAR, ends[:, :, 0]), (c, FAR, ends[:, :, 1]))
    )
    gaps = torch.stack([(close - piece).norm(dim=-1) for piece in pieces]).amin(0)
    bent = (gaps > 0.02 * size[..., None]).any(-1)
    variance = found.var(-1, correction=0)
    holds = (
        not moves.any() and not corners.any() and not bent.any(),
        (found >= 0).all(),
        _often((variance > 0.9) & (variance < 1.1), 0.9),
        _often(straight & moves.all(-1)),
        not corners.any(),
        _often(~moves.any(-1), 0.9),
        _often(bent),
        max(matrix_rank(x.flatten(0, 1), rtol=RANK) for x in ends) > 1,
        _often(moves.all(-1)),
    )
    return next((what for what, is_so in zip(PATTERNS, holds, strict=True) if is_so), "")


def networks(walk: Callable[..., Tensor], mixed: Callable[..., Tensor]) -> list[Probe]:
    """Return probes for two linear layers with a ReLU between them, and nothing after them.

    Args:
        walk: returns the outputs of modules for points that are alone, ``(N, 1, D)`` to ``(N, D)``.
        mixed: returns the outputs of modules for samples of several points.
    """

    @cache
    def found(modules: Modules) -> str:
        return pattern(lambda x, seed: walk(modules, x, d_ff=1, seed=seed))

    def on_a_line(modules: Modules) -> bool:
        every = (mixed(modules, d_ff=1, seed=seed).double().flatten(0, 1) for seed in SEEDS)
        return bool(max(matrix_rank(rows - rows[:1], rtol=RANK) for rows in every) < 2)

    along = "with d_ff = 1, the outputs along a straight line of points"
    return [
        *(
            Probe(lambda modules, what=what: found(modules) == what, f"{along} {what}")  # type: ignore[misc]
            for what in PATTERNS
        ),
        Probe(on_a_line, "with d_ff = 1, the outputs for many points are not on one line"),
    ]


def _often(found: Tensor, share: float = 0.15) -> bool:
    """Return whether it holds for more than a fraction of the lines."""
    return bool(found.double().mean() > share)
