"""Properties of a table of positions, ``table(length, d_model)``, one row a position."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from selfattn_book.properties.answer import YES, Answer, Likely, equal, question, same
from selfattn_book.properties.calls import rows_of

Table = Callable[[int, int], Tensor]

OTHER_BASE = "The base is not 10000."
ALL_EQUAL = "All rows are equal."


@question
def equals_the_formula(table: Table, d_model: int = 8) -> Answer:
    r"""Check a table of positions against the sines and cosines of the Transformer.

    .. math::
       P_{p,\,2i} = \sin\!\big(p / 10000^{2i/D}\big), \qquad
       P_{p,\,2i+1} = \cos\!\big(p / 10000^{2i/D}\big)

    Args:
        table: function that returns the table; it is called for 13 positions.
        d_model: number of columns; an odd number ends with a sine.

    Source:
        :cite:t:`vaswani2017attention`, section 3.5.

    Example:
        >>> from selfattn_book.positions import sinusoidal_encoding
        >>> equals_the_formula(sinusoidal_encoding)
        yes
        >>> equals_the_formula(lambda n, d: sinusoidal_encoding(n + 1, d)[1:])
        no: the entry of column 0 of position 12 is 0.42, not -0.537.
        The positions begin at 1, not at 0.
    """
    rows = rows_of(table, 13, d_model)
    formula = [
        (math.sin, math.cos)[c % 2](p / 10000 ** (2 * (c // 2) / d_model))
        for p in range(13)
        for c in range(d_model)
    ]
    expected = torch.tensor(formula, dtype=torch.float64).view(13, d_model)
    answer = same(rows, expected, "the entry", ("position", "column"), tolerance=1e-6)
    return answer.because(*wrong_formulas(rows, d_model))


@question
def positions_are_distinct(table: Table, d_model: int = 16) -> Answer:
    """Check that no two of 100 positions are nearer than half the smallest single step.

    Args:
        table: function that returns the table; it is called for 100 positions.
        d_model: number of columns.

    Example:
        >>> from selfattn_book.positions import sinusoidal_encoding
        >>> positions_are_distinct(sinusoidal_encoding)
        yes
        >>> positions_are_distinct(sinusoidal_encoding, d_model=2)
        no: the rows of positions ... and ... are 0.0177 apart, and half the smallest step is 0.479.
    """
    rows = rows_of(table, 100, d_model)
    distances = torch.linalg.vector_norm(rows[:, None] - rows, dim=-1)
    others = distances.masked_fill(torch.eye(100, dtype=torch.bool), torch.inf)
    least, half = others.min().item(), distances.diagonal(1).min().item() / 2
    if least > half:
        return YES
    i, j = divmod(int(others.argmin()), 100)
    message = f"the rows of positions {i} and {j} are {least:.3g} apart"
    no = Answer("mathematics", f"{message}, and half the smallest step is {half:.3g}.")
    return no.because((ALL_EQUAL, lambda: bool((rows == rows[0]).all())))


def wrong_formulas(rows: Tensor, d_model: int, tolerance: float = 1e-6) -> list[Likely]:
    """List misconceptions about the formula, each with a test of the rows."""
    position = torch.arange(len(rows), dtype=torch.float64)[:, None]
    column = torch.arange(d_model, dtype=torch.float64)
    right, pair = 2 * (column // 2) / d_model, column // 2
    table = _waves(position, right)
    wrong = {
        "Sines and cosines are exchanged.": _waves(position, right, shift=1),
        "All sines come first, then all cosines: halves instead of pairs.": (
            torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
        ),
        "The positions begin at 1, not at 0.": _waves(position + 1, right),
        "Nothing is divided: all columns turn at one speed.": _waves(position, 0 * pair),
        "The exponent is i / D, not 2i / D.": _waves(position, pair / d_model),
        "The exponent is 4i / D: the 2 is counted twice.": _waves(position, 2 * right),
        "Each column has a speed of its own, where two share one.": (
            _waves(position, column / d_model)
        ),
        "The exponent is i / (D/2 - 1), which ends at 1, not 2i / D.": (
            _waves(position, pair / max(d_model // 2 - 1, 1))
        ),
        "The position is multiplied, not divided.": _waves(position, -right),
        OTHER_BASE: _waves(position, right, base=_base(rows)),
    }
    return [(sentence, partial(equal, rows, x, tolerance)) for sentence, x in wrong.items()]


def _waves(position: Tensor, power: Tensor, *, base: float = 10_000.0, shift: int = 0) -> Tensor:
    """Return alternating sines and cosines of positions divided by powers of the base."""
    angle, column = position * base**-power, torch.arange(len(power))
    return torch.where((column + shift) % 2 == 0, angle.sin(), angle.cos())


def _base(rows: Tensor) -> float:
    """Return the base of a table by its second pair of columns; 1 if there is none."""
    speed = torch.atan2(*rows[1, 2:4]).item() if rows.size(1) > 3 else 0
    return speed ** (-rows.size(1) / 2) if speed > 0 else 1
