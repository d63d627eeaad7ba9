"""Likely misconceptions behind the wrong numbers of a model or a normalization.

To be read as :mod:`selfattn_book.properties.explain_attention`: a sentence and a test for it.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book.properties.answer import Likely, equal
from selfattn_book.properties.calls import output_of
from selfattn_book.properties.explain_attention import INVERTED, UNUSED, ZEROED_PADDING

Model = Callable[..., Tensor]

UNBIASED = "It divides by the deviation of `torch.std`; `correction=0` is meant."
NOT_CENTRED = "The mean is not taken away: only the mean square is set to 1."
NOT_SCALED = "The mean is taken away, and nothing is divided."
BY_THE_VARIANCE = "It is divided by the variance, not by its root."
ALONG_POSITIONS = "Mean and deviation are those of an entry over the positions."
OVER_EVERYTHING = "Mean and deviation are those of all positions together."
INPUT_ADDED = "The input comes through: it is added after the norm, as pre-norm code does."
TOO_WIDE = "Each position depends on the next one: the mask is one diagonal too wide."
KNOWS_LENGTH = (
    "No output depends on the future, but on the length, as a mean over all positions does."
)
TRANSPOSED = "Outputs depend on later positions, not on earlier ones: the mask is transposed."
NOT_CAUSAL = "Every position depends on every other, as without a causal mask."
RANDOM = (
    "From one seed they agree, so the difference is random: active dropout (call `.eval()`), "
    "or a module that is made in every call."
)
STATEFUL = "From one seed they differ as well: state is kept from call to call."
KEPT = "State of the previous prediction is kept: each prediction needs an empty cache."
FIRST_ONLY = "The first point is right: later steps lack their position, or the earlier points."


def chance(compute: Callable[[], tuple[Tensor, ...]]) -> list[Likely]:
    """List causes of two different results of the same call."""

    def agree() -> bool:
        torch.default_generator.manual_seed(0)
        first = compute()
        torch.default_generator.manual_seed(0)
        return all(map(torch.equal, first, compute()))

    return [(RANDOM, agree), (STATEFUL, lambda: not agree())]


def order(model: Model, x: Tensor) -> list[Likely]:
    """List misconceptions about causality, by which output depends on which input."""

    def depends() -> Tensor:
        return _dependence(model, x)  # (T, T)

    def is_triangle(diagonal: int) -> bool:
        return torch.equal(depends(), torch.ones_like(depends()).tril(diagonal))

    return [
        (TOO_WIDE, lambda: is_triangle(1)),
        (KNOWS_LENGTH, lambda: not depends().triu(1).any()),
        (TRANSPOSED, lambda: not depends().tril(-1).any()),
        (NOT_CAUSAL, lambda: bool(depends().all())),
    ]


def _dependence(model: Model, x: Tensor) -> Tensor:
    """Return which output position depends on which input position, ``(T, T)``."""
    before, columns = output_of(model, x), []
    for position in range(x.size(1)):
        other = x.clone()
        other[:, position] = -3 * x[:, position]
        columns.append((output_of(model, other) - before).abs().amax((0, 2)) > 1e-12)
    return torch.stack(columns, dim=1)


def norms(model: Model, x: Tensor) -> list[Likely]:
    """List misconceptions behind rows without mean 0 and mean square 1; ``x`` is large."""

    def output(factor: float = 1) -> Tensor:
        return output_of(model, factor * x)

    def is_normal(*axes: int, square: float = 1) -> bool:
        y = output()
        return _is(y.mean(axes), 0) and _is(y.square().mean(axes), square)

    def shrinks() -> bool:
        return bool(output().any()) and equal(1000 * output(1000), output(), 1e-6)

    def input_remains() -> bool:
        return equal(output(1000) / (1000 * x.std()), x / x.std(), 0.1)

    return [
        (UNBIASED, lambda: is_normal(-1, square=1 - 1 / output().size(-1))),
        (NOT_CENTRED, lambda: _is(output().square().mean(-1), 1)),
        (NOT_SCALED, lambda: equal(output(), x - x.mean(-1, keepdim=True))),
        (BY_THE_VARIANCE, shrinks),
        (ALONG_POSITIONS, lambda: is_normal(1)),
        (OVER_EVERYTHING, lambda: is_normal(1, 2)),
        (INPUT_ADDED, input_remains),
    ]


def _is(values: Tensor, wanted: float) -> bool:
    return equal(values, torch.full_like(values, wanted), 1e-4)


def source_padding(model: Model, source: Tensor, target: Tensor, mask: Tensor) -> list[Likely]:
    """List misconceptions behind an effect of a source's padding, given its mask."""
    is_real = mask[:, 0, 0, :, None]  # (B, S, 1)

    def output(source: Tensor, mask: Tensor = mask) -> Tensor:
        return output_of(model, source, target, mask)[1:]  # the padded samples

    def changes(where: Tensor) -> bool:
        other = torch.where(where, -3 * source.flip(0), source)
        return not equal(output(other), output(source))

    return [
        (UNUSED, lambda: equal(output(source), output(source, torch.ones_like(mask)))),
        (INVERTED, lambda: changes(~is_real) and not changes(is_real)),
        (ZEROED_PADDING, lambda: not changes(~is_real)),
    ]


def caches(
    predict: Model, start: Tensor, predictions: int, points: Tensor, expected: Tensor
) -> list[Likely]:
    """List mistakes of a cache, after a number of right predictions."""

    def again() -> Tensor:
        torch.default_generator.manual_seed(0)
        return output_of(predict, start, points.size(1))

    return [
        (KEPT, lambda: predictions > 0 or not torch.equal(again(), again())),
        (FIRST_ONLY, lambda: equal(points[:, 0], expected[:, 0], 1e-9)),
    ]
