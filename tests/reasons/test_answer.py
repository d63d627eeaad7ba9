"""An answer says what kind of *no* it is, where, and with which numbers."""

import linecache
import re

import pytest
import torch
from torch import nn

from selfattn_book import properties as has
from selfattn_book.attention import scaled_dot_product_attention as attend
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.positions import sinusoidal_encoding
from selfattn_book.reasons.answer import Answer


# Kinds.
def stops(query, key, value, mask):
    too_many = value.expand(2, 2)
    return too_many, mask


in_32_bits = MultiHeadAttention(6, 2)
KINDS = {
    "mathematics": (
        lambda q, k, v, mask: attend(q, k, v),
        r"the context of query \d of sample \d is off by [\d.]+",
    ),
    "shape": (
        lambda q, k, v, mask: (v.mT, mask),
        r"the context must have shape \(3, 5, 6\); got \(3, 6, 7\)\.",
    ),
    "dtype": (
        lambda q, k, v, mask: in_32_bits(q, k, v, mask[:, None]),
        r"call `\.double\(\)` on your module first.*torch\.float32; got torch\.float64",
    ),
    "missing": (
        lambda *inputs: attend(*inputs)[0],
        r"context and weights; got one tensor of shape \(3, 5, 6\)\.",
    ),
    "exception": (
        stops,
        r"RuntimeError in line \d+ of stops, `too_many = value\.expand\(2, 2\)`: .+",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_no_says_its_kind_and_its_reason(kind):
    code, reason = KINDS[kind]
    answer = has.equals_pytorch(code)
    assert (answer.kind, bool(answer)) == (kind, False)
    assert re.search(reason, answer.reason)
    assert repr(answer).startswith(f"no: {answer.reason}")


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (None, "got None"),
        ((1, 2, 3), "got 3 values"),
        (5.0, "got a value of type float"),
        (torch.zeros(3, 5, 7).numpy(), "got a value of type ndarray"),
        ((None, torch.zeros(3, 5, 7)), "the context as a tensor; got None"),
    ],
)
def test_what_was_not_returned_is_missing(returned, told):
    answer = has.equals_pytorch(lambda *inputs: returned)
    assert answer.kind == "missing"
    assert told in answer.reason


@pytest.mark.parametrize(
    ("weights", "kind"),
    [(None, "missing"), (torch.zeros(3, 7, 5).double(), "shape")],
)
def test_weights_are_looked_at_where_they_are_asked_for(weights, kind):
    def code(q, k, v, mask):
        return attend(q, k, v, mask)[0], weights

    assert has.equals_pytorch(code)
    assert has.rows_sum_to_one(code).kind == kind


def test_numbers_that_were_shortened_are_named():
    short = has.equals_pytorch(lambda *x: attend(*(y.to(y.dtype) for y in x)))
    assert short
    inside = has.equals_pytorch(
        lambda q, k, v, mask: attend(q.float(), k.float(), v.float(), mask)
    )
    assert inside.kind == "dtype"
    assert "got float32" in inside.reason


def test_what_stops_in_32_bits_too_is_no_matter_of_type():
    assert has.rows_are_normalized(nn.Linear(5, 6)).kind == "exception"
    assert has.rows_are_normalized(nn.Linear(6, 6)).kind == "dtype"


def test_the_innermost_line_of_the_reader_is_named():
    class Reader(nn.Module):
        def forward(self, x):
            return nn.functional.linear(x, torch.zeros(2, 2).double())

    answer = has.rows_are_normalized(lambda x: Reader()(x))
    assert "of forward, `return nn.functional.linear(" in answer.reason
    book = has.rows_are_normalized(lambda x: attend(x, x, x, None, 1))
    assert "in line" in book.reason


def test_no_line_is_looked_at_but_the_readers_innermost(monkeypatch):
    """So no docstring of the package is part of what an answer says, nor of a page's key."""
    looked, getline = set(), linecache.getline
    monkeypatch.setattr(
        linecache,
        "getline",
        lambda name, *rest: looked.add(name) or getline(name, *rest),
    )
    answer = has.rows_are_normalized(lambda x: attend(x, x, x, None, 1))
    assert "in line" in answer.reason
    assert looked == {__file__}


def test_code_of_nobody_has_no_line():
    answer = has.rows_are_normalized(torch.linalg.cholesky)
    assert answer.reason.startswith("RuntimeError: ")


def test_a_step_that_stops_is_answered():
    error = ValueError("no data.\nThat is a long story.")

    def step():
        raise error

    answer = has.every_parameter_moves(nn.Linear(2, 2), step)
    assert answer.kind == "exception"
    assert answer.reason.endswith("of step, `raise error`: no data.")


def test_a_detached_context_has_no_gradient():
    def detached(*inputs):
        return tuple(x.detach() for x in attend(*inputs))

    answer = has.blind_rows_are_silent(detached)
    assert (answer.kind, "detached" in answer.reason) == ("mathematics", True)


def test_a_table_on_its_side_is_named():
    answer = has.equals_the_formula(lambda n, d: sinusoidal_encoding(n, d).T)
    assert (answer.kind, answer.misconception[:16]) == ("shape", "It is transposed")
    assert has.equals_the_formula(lambda n, d: None).kind == "missing"


def test_the_largest_difference_is_told():
    def one_off(query, key, value, mask):
        context, weights = attend(query, key, value, mask)
        context[2, 4, 1] += 0.25
        context[1, 0, 0] -= 0.125
        return context, weights

    answer = has.equals_pytorch(one_off)
    assert answer.reason == "the context of query 4 of sample 2 is off by 0.25."
    assert answer.misconception == ""


def test_a_test_that_cannot_be_made_gives_no_evidence():
    no = Answer("mathematics", "it is wrong.")
    assert no.because(("One divided by none.", lambda: [][0])) == no
    first = no.because(("First.", lambda: True), ("Second.", lambda: True))
    assert first.misconception == "First."
    assert first.because(("Third.", lambda: True)) == first


def test_an_error_of_the_writer_is_shown():
    with pytest.raises(KeyError):
        has.rows_are_normalized(lambda x: {}[x])
