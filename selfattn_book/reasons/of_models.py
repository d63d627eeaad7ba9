"""What is likely behind the wrong numbers of a model, a norm, or a table of positions.

Read as :mod:`selfattn_book.reasons.of_attention` is: a sentence beside a test for it.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from selfattn_book.reasons.answer import Likely, equal
from selfattn_book.reasons.calls import output_of

Model = Callable[..., Tensor]

UNBIASED = "It divides by the deviation of `torch.std`; `correction=0` is meant."
NOT_CENTRED = "The mean is not taken away: only the mean square is set right."
NOT_SCALED = "The mean is taken away, and nothing is divided."
BY_THE_VARIANCE = "It is divided by the variance, not by its root."
ALONG_POSITIONS = "Mean and deviation are those of an entry over the positions."
OVER_EVERYTHING = "Mean and deviation are those of all positions together."
OTHER_BASE = "The base is not 10000."
INPUT_ADDED = (
    "The input comes through: it is added behind the norm, as pre-norm code does."
)


def of_chance(answer: Callable[[], tuple[Tensor, ...]]) -> list[Likely]:
    """Return what can be behind two answers to one question."""

    def agree() -> bool:
        torch.default_generator.manual_seed(0)
        once = answer()
        torch.default_generator.manual_seed(0)
        return all(map(torch.equal, once, answer()))

    return [
        (
            "From one seed they agree, so it is chance: dropout that was not switched off "
            "(`.eval()`), or a module that is made in every call.",
            agree,
        ),
        (
            "From one seed they differ as well: something is kept from call to call.",
            lambda: not agree(),
        ),
    ]


def of_order(model: Model, x: Tensor) -> list[Likely]:
    """Return what can be known too early, by which input moves which output."""

    def sees() -> Tensor:
        return _sees(model, x)  # (T, T)

    def is_triangle(diagonal: int) -> bool:
        return torch.equal(sees(), torch.ones_like(sees()).tril(diagonal))

    return [
        (
            "Each position sees one position of its future: the mask is one diagonal too wide.",
            lambda: is_triangle(1),
        ),
        (
            "It does not look ahead, but it knows the length, as a mean over all positions does.",
            lambda: not sees().triu(1).any(),
        ),
        (
            "What comes later is seen, and what comes before is not: the mask is transposed.",
            lambda: not sees().tril(-1).any(),
        ),
        (
            "Every position sees every other, as without a causal mask.",
            lambda: bool(sees().all()),
        ),
    ]


def _sees(model: Model, x: Tensor) -> Tensor:
    """Return which output position moves with which input position, ``(T, T)``."""
    before, columns = output_of(model, x), []
    for place in range(x.size(1)):
        other = x.clone()
        other[:, place] = -3 * x[:, place]
        moved = (output_of(model, other) - before).abs().amax((0, 2)) > 1e-12
        columns.append(moved)
    return torch.stack(columns, dim=1)


def of_norms(model: Model, x: Tensor) -> list[Likely]:
    """Return what can keep rows from mean 0 and mean square 1; ``x`` is large."""

    def output(factor: float = 1) -> Tensor:
        return output_of(model, factor * x)

    def is_normal(*axes: int, square: float = 1) -> bool:
        y = output()
        return _is(y.mean(axes), 0) and _is(y.square().mean(axes), square)

    def shrinks() -> bool:
        return bool(output().any()) and equal(1000 * output(1000), output(), 1e-6)

    def comes_through() -> bool:
        return equal(output(1000) / (1000 * x.std()), x / x.std(), 0.1)

    return [
        (UNBIASED, lambda: is_normal(-1, square=1 - 1 / output().size(-1))),
        (NOT_CENTRED, lambda: _is(output().square().mean(-1), 1)),
        (NOT_SCALED, lambda: equal(output(), x - x.mean(-1, keepdim=True))),
        (BY_THE_VARIANCE, shrinks),
        (ALONG_POSITIONS, lambda: is_normal(1)),
        (OVER_EVERYTHING, lambda: is_normal(1, 2)),
        (INPUT_ADDED, comes_through),
    ]


def _is(values: Tensor, wanted: float) -> bool:
    return equal(values, torch.full_like(values, wanted), 1e-4)


def of_table(rows: Tensor, d_model: int, tolerance: float = 1e-6) -> list[Likely]:
    """Return what a table of positions computes instead of the formula."""
    place = torch.arange(len(rows), dtype=torch.float64)[:, None]
    column = torch.arange(d_model, dtype=torch.float64)
    right, pair = 2 * (column // 2) / d_model, column // 2
    table = _waves(place, right)
    wrong = {
        "Sines and cosines are exchanged.": _waves(place, right, turn=1),
        "All sines come first, and then all cosines: halves instead of pairs.": (
            torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
        ),
        "The positions begin at 1, not at 0.": _waves(place + 1, right),
        "Nothing is divided: all columns turn at one speed.": _waves(
            place, 0 * pair
        ),
        "The exponent is i / D, and not 2i / D.": _waves(place, pair / d_model),
        "The exponent is 4i / D: the 2 is counted twice.": _waves(place, 2 * right),
        "Each column has a speed of its own, where two share one.": (
            _waves(place, column / d_model)
        ),
        "The exponent is i / (D/2 - 1), up to a whole 1, and not 2i / D.": (
            _waves(place, pair / max(d_model // 2 - 1, 1))
        ),
        "The position is multiplied, not divided.": _waves(place, -right),
        OTHER_BASE: _waves(place, right, base=_base(rows)),
    }
    return [(said, partial(equal, rows, x, tolerance)) for said, x in wrong.items()]


def _waves(
    place: Tensor, power: Tensor, *, base: float = 10_000.0, turn: int = 0
) -> Tensor:
    """Return sines and cosines by turns, of places divided by powers of the base."""
    angle, column = place * base**-power, torch.arange(len(power))
    return torch.where((column + turn) % 2 == 0, angle.sin(), angle.cos())


def _base(rows: Tensor) -> float:
    """Return the base of a table, as its second pair of columns has it; 1 if it has none."""
    speed = torch.atan2(*rows[1, 2:4]).item() if rows.size(1) > 3 else 0
    return speed ** (-rows.size(1) / 2) if speed > 0 else 1


def of_source_padding(
    model: Model, source: Tensor, target: Tensor, real: Tensor
) -> list[Likely]:
    """Return what can let the padding of a source speak; ``real`` is its mask."""
    is_real = real[:, 0, 0, :, None]  # (B, S, 1)

    def output(source: Tensor, real: Tensor = real) -> Tensor:
        return output_of(model, source, target, real)[1:]  # the padded samples

    def moves(where: Tensor) -> bool:
        other = torch.where(where, -3 * source.flip(0), source)
        return not equal(output(other), output(source))

    return [
        (
            "The mask makes no difference: with nothing hidden, the answer is the same.",
            lambda: equal(output(source), output(source, torch.ones_like(real))),
        ),
        (
            "The mask is inverted: padding is seen, and the rest is hidden.",
            lambda: moves(~is_real) and not moves(is_real),
        ),
        (
            "What padding holds is of no matter, but it counts: it is set to 0, not hidden.",
            lambda: not moves(~is_real),
        ),
    ]


def of_caches(
    predict: Model, start: Tensor, asked: int, points: Tensor, expected: Tensor
) -> list[Likely]:
    """Return what can be wrong with a cache, once ``asked`` predictions were right."""

    def again() -> Tensor:
        torch.default_generator.manual_seed(0)
        return output_of(predict, start, points.size(1))

    return [
        (
            "It keeps something of the prediction before: each begins with an empty cache.",
            lambda: asked > 0 or not torch.equal(again(), again()),
        ),
        (
            "The first point is right: later steps lack a place, or what came before.",
            lambda: equal(points[:, 0], expected[:, 0], 1e-9),
        ),
    ]
