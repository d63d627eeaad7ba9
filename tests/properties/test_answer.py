"""An answer gives the kind of a no, its place, and its numbers."""

import linecache
import re

import pytest
import torch
from torch import nn

from selfattn_book.attention import scaled_dot_product_attention as attend
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.properties.answer import Answer, RefusedError, wrong_shape
from selfattn_book.properties.calls import call
from selfattn_book.properties.of_attention import (
    equals_pytorch,
    fully_masked_rows_are_zero,
    rows_sum_to_one,
)
from selfattn_book.properties.of_models import every_parameter_is_updated, rows_are_normalized


def stops(query, key, value, mask):
    too_many = value.expand(2, 2)
    return too_many, mask


in_float32 = MultiHeadAttention(6, 2)
DOUBLE = r"call `\.double\(\)` on your module first.*torch\.float32; got torch\.float64"
INNER = r"the context must be float64, as the inputs are; got float32\."
KINDS = [
    (lambda *x: attend(*x[:3]), "mathematics", r"context of query \d of sample \d is off by \d"),
    (lambda q, k, v, m: (v.mT, m), "shape", r"have shape \(3, 5, 6\); got \(3, 6, 7\)\."),
    (lambda *x: attend(x[0].float(), x[1].float(), x[2].float(), x[3]), "dtype", INNER),
    (lambda q, k, v, m: in_float32(q, k, v, m[:, None]), "dtype", DOUBLE),
    (lambda *inputs: None, "missing", "got None"),
    (lambda *inputs: (1, 2, 3), "missing", "got 3 values"),
    (lambda *inputs: 5.0, "missing", "got a value of type float"),
    (lambda *inputs: torch.zeros(3, 5, 7).numpy(), "missing", "got a value of type ndarray"),
    (lambda *inputs: (None, inputs[0]), "missing", "the context as a tensor; got None"),
    (stops, "exception", r"Error in line \d+ of stops, `too_many = value\.expand\(2, 2\)`: .+"),
]


@pytest.mark.parametrize(("code", "kind", "reason"), KINDS)
def test_a_no_gives_its_kind_and_its_reason(code, kind, reason):
    answer = equals_pytorch(code)
    assert (answer.kind, bool(answer)) == (kind, False)
    assert re.search(reason, answer.reason)
    assert repr(answer).startswith(f"no: {answer.reason}")


@pytest.mark.parametrize(
    ("weights", "kind"), [(None, "missing"), (torch.zeros(3, 7, 5).double(), "shape")]
)
def test_weights_are_checked_only_by_their_properties(weights, kind):
    def code(q, k, v, mask):
        return attend(q, k, v, mask)[0], weights

    assert equals_pytorch(code)
    assert rows_sum_to_one(code).kind == kind
    alone = rows_sum_to_one(torch.nn.functional.scaled_dot_product_attention)
    assert alone.reason == "it must return the weights as a tensor; got None."


def test_code_that_fails_in_float32_too_is_not_a_matter_of_dtype():
    assert rows_are_normalized(nn.Linear(5, 6)).kind == "exception"
    assert rows_are_normalized(nn.Linear(6, 6)).kind == "dtype"


def test_only_the_innermost_line_of_the_reader_is_read(monkeypatch):
    """So no docstring of the package is part of an answer, nor of a page's key."""
    read, getline = set(), linecache.getline
    monkeypatch.setattr(
        linecache, "getline", lambda name, *rest: read.add(name) or getline(name, *rest)
    )

    class Reader(nn.Module):
        def forward(self, x):
            return nn.functional.linear(x, torch.zeros(2, 2).double())

    answer = rows_are_normalized(lambda x: Reader()(x))
    assert "of forward, `return nn.functional.linear(" in answer.reason
    assert "in line" in rows_are_normalized(lambda x: attend(x, x, x, None, 1)).reason
    assert read == {__file__}


def test_library_code_has_no_line():
    assert rows_are_normalized(torch.linalg.cholesky).reason.startswith("RuntimeError: ")


def test_an_error_in_a_training_step_is_an_answer():
    def step():
        raise ValueError("no data.\nThat is a long story.")

    answer = every_parameter_is_updated(nn.Linear(2, 2), step)
    assert answer.kind == "exception"
    assert re.search(r"of step, `raise ValueError\(.*\)`: no data\.$", answer.reason)


@pytest.mark.parametrize("wanted", [(), (3,), (3, 5)])
def test_a_wrong_shape_is_written_as_a_tuple(wanted):
    answer = wrong_shape("x", wanted, torch.zeros(2, 7))
    assert (answer.kind, answer.reason) == ("shape", f"x must have shape {wanted}; got (2, 7).")


def test_a_refused_call_prints_its_answer():
    with pytest.raises(RefusedError, match=r"^no: RuntimeError in line \d+ of stops, `too_many = "):
        call(stops, None, None, torch.zeros(3), None)


def test_a_detached_context_has_no_gradient():
    answer = fully_masked_rows_are_zero(lambda *inputs: [x.detach() for x in attend(*inputs)])
    assert answer.kind == "mathematics"
    assert "detached" in answer.reason


def test_the_largest_difference_is_reported():
    def wrong(query, key, value, mask):
        context, weights = attend(query, key, value, mask)
        context[2, 4, 1] += 0.25
        context[1, 0, 0] -= 0.125
        return context, weights

    answer = equals_pytorch(wrong)
    assert answer.reason == "the context of query 4 of sample 2 is off by 0.25."
    assert answer.misconception == ""


def test_the_first_test_that_holds_names_the_misconception():
    no = Answer("mathematics", "it is wrong.")
    assert no.because(("One that fails.", lambda: [][0])) == no
    first = no.because(("First.", lambda: True), ("Second.", lambda: True))
    assert first.misconception == "First."
    assert first.because(("Third.", lambda: True)) == first
