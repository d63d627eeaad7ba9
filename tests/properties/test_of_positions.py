"""Properties of a table of positions hold for the book's; each broken table is refused by name."""

import pytest
import torch

from selfattn_book.positions import sinusoidal_encoding
from selfattn_book.properties import of_positions as has


def waves(power, base=10_000.0):
    def table(length, d_model):
        column = torch.arange(d_model, dtype=torch.float64)
        position = torch.arange(length, dtype=torch.float64)[:, None]
        angle = position * base ** -power(column, d_model)
        return torch.where(column % 2 == 0, angle.sin(), angle.cos())

    return table


def halves(length, d_model):
    table = sinusoidal_encoding(length, d_model)
    return torch.cat([table[:, 0::2], table[:, 1::2]], 1)


def exchanged(length, d_model):
    return sinusoidal_encoding(length, d_model).unflatten(1, (-1, 2)).flip(2).flatten(1)


FORMULAS = [
    (exchanged, "Sines and cosines"),
    (halves, "All sines come first"),
    (lambda n, d: sinusoidal_encoding(n + 1, d)[1:], "The positions begin at 1"),
    (waves(lambda c, d: 0 * c), "Nothing is divided"),
    (waves(lambda c, d: c // 2 / d), "The exponent is i / D"),
    (waves(lambda c, d: 4 * (c // 2) / d), "The exponent is 4i / D"),
    (waves(lambda c, d: c / d), "Each column has"),
    (waves(lambda c, d: c // 2 / (d // 2 - 1)), "The exponent is i / (D/2"),
    (waves(lambda c, d: -2 * (c // 2) / d), "The position is multiplied"),
    (waves(lambda c, d: 2 * (c // 2) / d, base=1000.0), "The base is not 10000"),
    (lambda n, d: torch.zeros(n, d), ""),
    (lambda n, d: -sinusoidal_encoding(n, d), ""),
    (lambda n, d: sinusoidal_encoding(n, d).flip(1), ""),
    (lambda n, d: sinusoidal_encoding(n, d + 2)[:, :-2], "The exponent|The base"),
]


@pytest.mark.parametrize(("table", "start"), FORMULAS)
@pytest.mark.parametrize("d_model", [6, 8])
def test_each_wrong_table_is_explained_by_one_misconception(table, start, d_model):
    answer = has.equals_the_formula(table, d_model)
    assert answer.kind == "mathematics"
    starts = tuple(start.split("|"))
    assert answer.misconception.startswith(starts) if start else answer.misconception == ""
    rows = table(13, d_model).double()
    holding = {name for name, explains in has.wrong_formulas(rows, d_model) if explains()}
    assert holding - {answer.misconception} <= {has.OTHER_BASE}  # a wrong exponent is a wrong base


@pytest.mark.parametrize("d_model", [1, 2, 5, 8, 13])
def test_the_right_table_is_accepted(d_model):
    assert has.equals_the_formula(sinusoidal_encoding, d_model)
    assert has.equals_the_formula(waves(lambda c, d: 2 * (c // 2) / d), d_model)


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        (lambda n, d: None, "missing"),
        (lambda n, d: sinusoidal_encoding(n, d)[0], "shape"),
        (lambda n, d: torch.zeros(n, d, 1) @ torch.zeros(2, 2), "exception"),
    ],
)
def test_a_table_of_another_kind_is_refused(table, kind):
    assert has.equals_the_formula(table).kind == kind


def test_a_transposed_table_is_named():
    answer = has.equals_the_formula(lambda n, d: sinusoidal_encoding(n, d).T)
    assert (answer.kind, answer.misconception[:16]) == ("shape", "It is transposed")


def test_positions_are_distinct_with_enough_columns():
    widths = [w for w in (2, 4, 8, 16) if has.positions_are_distinct(sinusoidal_encoding, w)]
    assert widths == [8, 16]


def test_equal_rows_are_not_distinct():
    def twice(length, d_model):
        table = sinusoidal_encoding(length, d_model)
        table[99] = table[7]
        return table

    answer = has.positions_are_distinct(twice)
    assert answer.reason.startswith("the rows of positions 7 and 99 are 0 apart")
    assert answer.misconception == ""
    constant = has.positions_are_distinct(lambda n, d: torch.ones(n, d))
    assert constant.misconception == has.ALL_EQUAL
