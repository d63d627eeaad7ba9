"""Replayed operations give the function's results; what cannot be replayed is run."""

from itertools import count
from unittest.mock import Mock

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book.experiments.recording import Recorded
from selfattn_book.verify import DisturbedRounding

TIMES = 5  # once to record, once to compare, and then replayed


def softmax(x):
    return (x @ x.mT).softmax(-1).sum(0), None, x[:, 1:]


def in_place(x):
    made = x.clone()
    made[1:].mul_(2)  # through a view
    made += 1
    return made.T, made[0]


def several(x):
    left, right = x.split([1, 2], dim=-1)
    top, index = F.layer_norm(x, (3,)).max(dim=-1)
    return left * right, top, index, *x.unbind(-1)


def gradient(x):
    with torch.enable_grad():
        y = x.clone().requires_grad_()
        return torch.autograd.grad(y.sigmoid().tanh().relu().exp().sum(), [y])


def empty(x):
    return x[:0].exp(), torch.ones(0), x[:, None].expand(7, 2, 3).sum(1)


def reinterpreted(x):
    bits = x.view(torch.int64)  # the same memory in another dtype
    turned = torch.complex(x, x + 1).conj()
    return bits + 1, bits ^ 3, turned * turned, turned.imag + 1, (x > 0).int()


FUNCTIONS = [softmax, in_place, several, gradient, empty, reinterpreted]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_operations_of_every_kind_are_replayed(draw, function):
    counted = Mock(side_effect=function)
    recorded = Recorded(counted)
    for number in range(TIMES):
        x = draw(7, 3, seed=number)
        before = x.clone()
        for got, expected in zip(recorded(x), function(x), strict=True):
            torch.testing.assert_close(got, expected, rtol=0, atol=0)
        assert torch.equal(x, before)
    assert counted.call_count == 2


@pytest.mark.parametrize(
    "changed",
    [
        lambda x: x[:5],
        lambda x: x.float(),
        lambda x: x.T.contiguous().T,
        lambda x: x.mT.repeat(1, 2).mT[7:],
        lambda x: x[:1].expand(7, 7),
    ],
)
def test_another_shape_dtype_or_layout_is_another_record(draw, changed):
    counted = Mock(side_effect=lambda x: (x.sin().cumsum(0), x.flatten() * 2))
    recorded = Recorded(counted)
    for number in range(TIMES):
        plain = draw(7, 7, seed=number)
        for x in (plain, changed(plain)):
            for got, expected in zip(recorded(x), counted.side_effect(x), strict=True):
                assert torch.equal(got, expected)
    assert counted.call_count == 4


def test_parameters_have_their_present_values(draw):
    weight, bias = draw(3, 3), nn.Parameter(draw(3))
    counted = Mock(side_effect=lambda x: (x @ weight.mT + bias[1:].sum(),))
    recorded = Recorded(counted)
    for number in range(TIMES):
        x = draw(7, 3, seed=number)
        (got,) = recorded(x)
        assert not got.requires_grad
        assert torch.equal(got, x @ weight.mT + bias[1:].sum())
        weight.mul_(2)
        bias.data.add_(1)
    assert counted.call_count == 2


def test_results_may_be_written_into(draw):
    weight = draw(3)

    def function(x):
        y = x + 1
        return 2 * x, weight.exp()[1:], torch.ones(3), y

    recorded = Recorded(function)
    x, before = draw(3), weight.clone()
    for _ in range(TIMES):
        results = recorded(x)
        for result, expected in zip(results, function(x), strict=True):
            assert torch.equal(result, expected)
            result.zero_()
    assert torch.equal(weight, before)


def own_generator(x):
    generator = torch.Generator().manual_seed(int(x[0] > 0))
    return (x + torch.rand(3, generator=generator),)


# Random numbers, Python's use of a tensor's value, writing into an argument.
NOT_REPLAYED = {
    "draws": lambda x: (x + torch.rand(3),),
    "drops": lambda x: (F.dropout(x, 0.5),),
    "own generator": own_generator,
    "branches": lambda x: (x if x.sum() > 0 else 2 * x,),
    "item": lambda x: (x * x.max().item(),),
    "compares": lambda x: (x if torch.equal(x, x.abs()) else 2 * x,),
    "writes": lambda x: (x.add_(1).clone(),),
}


@pytest.mark.parametrize("function", NOT_REPLAYED.values(), ids=NOT_REPLAYED)
def test_functions_that_cannot_be_replayed_are_run(draw, seeded, function):
    # First with sums above 0, then below.
    arguments = sorted((draw(3, seed=n) for n in range(TIMES)), key=lambda x: -x.sum())
    counted = Mock(side_effect=function)
    with seeded(0):
        expected = [function(x.clone()) for x in arguments]
    with seeded(0):
        got = list(map(Recorded(counted), (x.clone() for x in arguments)))
    assert counted.call_count == TIMES
    torch.testing.assert_close(got, expected, rtol=0, atol=0)


def test_counts_in_a_tensor_and_in_python_increase_by_one_a_call():
    calls, number, zero = torch.zeros(()), count(1), torch.zeros(())

    @Recorded
    def in_a_tensor(x):
        calls.add_(1)
        return (x + calls,)

    in_python = Recorded(lambda x: (x + next(number),))
    for counts in (in_a_tensor, in_python):
        assert [counts(zero)[0].item() for _ in range(4)] == [1, 2, 3, 4]


def test_a_call_that_fails_leaves_nothing_behind(draw):
    def fails(x):
        y = x.exp()
        if len(failures) < 2:
            failures.append(y)
            raise ValueError("not yet")
        return (y,)

    failures, recorded, x = [], Recorded(fails), draw(3)
    for _ in range(2):
        with pytest.raises(ValueError, match="not yet"):
            recorded(x)
    for _ in range(TIMES):
        assert torch.equal(recorded(x)[0], x.exp())


def test_disturbed_rounding_reaches_replayed_operations(draw):
    counted = Mock(side_effect=lambda x: (x.exp(),))
    recorded, x = Recorded(counted), draw(7)
    plain = [recorded(x)[0] for _ in range(TIMES)]
    with DisturbedRounding(draw=1):
        replayed, expected = recorded(x)[0], x.exp()
    assert counted.call_count == 2
    assert torch.equal(replayed, expected)
    assert not torch.equal(replayed, plain[-1])
