"""What is played is what the function gives, and what cannot be played is not."""

from collections import Counter
from itertools import count

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from selfattn_book.experiments.recording import Recorded
from selfattn_book.verify import DisturbedRounding

TIMES = 5  # once to write down, once to compare, and then played


class Asked:
    """A function that counts how often it is run."""

    def __init__(self, function):
        self.function, self.times = function, 0

    def __call__(self, *given):
        self.times += 1
        return self.function(*given)


def test_what_is_played_is_what_the_function_gives(draw):
    asked = Asked(lambda x, y: ((x @ y.mT).softmax(-1).sum(0), None, x[:, 1:]))
    recorded = Recorded(asked)
    for number in range(TIMES):
        x, y = draw(7, 3, seed=number), draw(5, 3, seed=number + TIMES)
        mean, nothing, view = recorded(x, y)
        assert torch.equal(mean, (x @ y.mT).softmax(-1).sum(0))
        assert nothing is None
        assert torch.equal(view, x[:, 1:])
    assert asked.times == 2


def in_place(x):
    made = x.clone()
    made[1:].mul_(2)  # through a view
    made += 1
    return (made.T, made[0])


def several(x):
    left, right = x.split([1, 2], dim=-1)
    top, index = F.layer_norm(x, (3,)).max(dim=-1)
    return left * right, top, index, *x.unbind(-1)


def by_gradient(x):
    with torch.enable_grad():
        y = x.clone().requires_grad_()
        return torch.autograd.grad(y.sigmoid().tanh().relu().exp().sum(), [y])


def without_numbers(x):
    return x[:0].exp(), torch.ones(0), x[:, None].expand(7, 2, 3).sum(1)


def of_other_kinds(x):
    bits = x.view(torch.int64)  # the same place, read as something else
    turned = torch.complex(x, x + 1).conj()
    return bits + 1, bits ^ 3, turned * turned, turned.imag + 1, (x > 0).int()


@pytest.mark.parametrize(
    "function", [in_place, several, by_gradient, without_numbers, of_other_kinds]
)
def test_operations_of_every_kind_are_played(draw, function):
    asked = Asked(function)
    recorded = Recorded(asked)
    for number in range(TIMES):
        x = draw(7, 3, seed=number)
        before = x.clone()
        for got, expected in zip(recorded(x), function(x), strict=True):
            assert got.dtype == expected.dtype
            assert torch.equal(got, expected)
        assert torch.equal(x, before)
    assert asked.times == 2


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
def test_what_lies_otherwise_is_another_recording(draw, changed):
    asked = Asked(lambda x: (x.sin().cumsum(0), x.flatten() * 2))
    recorded = Recorded(asked)
    for number in range(TIMES):
        plain = draw(7, 7, seed=number)
        for x in (plain, changed(plain)):
            for got, expected in zip(recorded(x), asked.function(x), strict=True):
                assert torch.equal(got, expected)
    assert asked.times == 4


def test_one_tensor_given_twice_is_not_two_tensors(draw):
    recorded = Recorded(lambda x, y: (x * 2 + y,))
    x, y = draw(3), draw(3, seed=1)
    for other in [x] * TIMES + [y] * TIMES:
        assert torch.equal(recorded(x, other)[0], x * 2 + other)


def test_what_is_not_given_is_read_where_it_lies(draw):
    weight, bias = draw(3, 3), nn.Parameter(draw(3))
    asked = Asked(lambda x: (x @ weight.mT + bias[1:].sum(),))
    recorded = Recorded(asked)
    for number in range(TIMES):
        x = draw(7, 3, seed=number)
        (got,) = recorded(x)
        assert not got.requires_grad
        assert torch.equal(got, x @ weight.mT + bias[1:].sum())
        weight.mul_(2)
        bias.data.add_(1)
    assert asked.times == 2


class Counted(TorchDispatchMode):
    """Count the operations that are called."""

    def __init__(self):
        super().__init__()
        self.called = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.called[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


def times_one(x):
    return torch.ops.aten.mul.Scalar(x, 1)


def test_products_by_one_and_constants_are_not_computed_again(draw):
    def masked(x):
        mask = torch.ones(3, 3, dtype=torch.bool).tril()
        return (times_one(x + 1).masked_fill(mask, 0).exp(),)

    recorded = Recorded(masked)
    for number in range(TIMES):
        x = draw(3, 3, seed=number)
        with Counted() as counted:
            (got,) = recorded(x)
        assert torch.equal(got, masked(x)[0])
    assert counted.called == {"add": 1, "masked_fill": 1, "exp": 1}


def test_who_gets_a_result_may_write_into_it(draw):
    weight = draw(3)

    def given_back(x):
        y = x + 1
        both = y, times_one(y), times_one(y)[1:]
        return times_one(x), times_one(weight)[1:], torch.ones(3), *both

    recorded = Recorded(given_back)
    x, before = draw(3), weight.clone()
    for _ in range(TIMES):
        results = recorded(x)
        for result, expected in zip(results, given_back(x), strict=True):
            assert torch.equal(result, expected)
            result.zero_()
    assert torch.equal(weight, before)


def written_into(x):
    plain = x + 1
    made = times_one(plain)
    made += plain
    return made, plain * 3


def otherwise_laid(x):
    return (times_one((x + 1)[:, ::2]).mT.exp(),)


@pytest.mark.parametrize("function", [written_into, otherwise_laid])
def test_a_product_by_one_that_is_not_its_factor_is_played_too(draw, function):
    asked = Asked(function)
    recorded = Recorded(asked)
    for number in range(TIMES):
        x = draw(3, 4, seed=number)
        assert all(map(torch.equal, recorded(x), function(x)))
    assert asked.times == 2


# What would be frozen, or moved twice, is run by Python at every call.
def draws(x):
    return (x + torch.rand(3),)


def drops(x):
    return (F.dropout(x, 0.5),)


def draws_from_its_own(x):
    generator = torch.Generator().manual_seed(int(x[0] > 0))
    return (x + torch.rand(3, generator=generator),)


def branches(x):
    return (x if x.sum() > 0 else 2 * x,)


def reads(x):
    return (x * x.max().item(),)


def compares(x):
    return (x if torch.equal(x, x.abs()) else 2 * x,)


def writes_into_what_is_given(x):
    return (x.add_(1).clone(),)


def test_functions_that_cannot_be_played_are_run(draw, seeded):
    functions = [
        draws, drops, draws_from_its_own, branches, reads, compares,
        writes_into_what_is_given,
    ]  # fmt: skip
    # At first the sum is above 0, and then it is not.
    given = [draw(3, seed=number) for number in range(TIMES)]
    given = sorted(given, key=lambda x: -x.sum())
    for function in functions:
        asked = Asked(function)
        with seeded(0):
            expected = [function(x.clone()) for x in given]
        with seeded(0):
            got = list(map(Recorded(asked), (x.clone() for x in given)))
        assert asked.times == TIMES, function.__name__
        torch.testing.assert_close(got, expected, rtol=0, atol=0)


def test_a_count_outside_goes_up_by_one_a_call(draw):
    calls = torch.zeros(())

    @Recorded
    def counts(x):
        calls.add_(1)
        return (x + calls,)

    assert [counts(torch.zeros(()))[0].item() for _ in range(4)] == [1, 2, 3, 4]


def test_a_record_that_differs_the_second_time_is_not_played():
    number = count()  # which PyTorch cannot see
    recorded = Recorded(lambda x: (x + next(number),))
    given = torch.zeros(())
    assert [recorded(given)[0].item() for _ in range(4)] == [0, 1, 2, 3]


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


def test_another_rounding_is_heard_by_the_record(draw):
    asked = Asked(lambda x: (x.exp(),))
    recorded, x = Recorded(asked), draw(7)
    plain = [recorded(x)[0] for _ in range(TIMES)]
    with DisturbedRounding(draw=1):
        played, expected = recorded(x)[0], x.exp()
    assert asked.times == 2
    assert torch.equal(played, expected)
    assert not torch.equal(played, plain[-1])
