"""Disturbed rounding: small, the same each time, and felt wherever sums are made."""

import pytest
import torch
from bookproof.verify.disturbed import DisturbedRounding
from torch.func import grad, jacrev, vmap


def disturbed(function, *arguments, draw=1):
    with DisturbedRounding(draw):
        return function(*arguments)


@pytest.fixture
def x(draw):
    return draw(7, 5)


def weights(x):
    return (x @ x.mT).softmax(-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_results_move_by_two_units_at_most(dtype, draw):
    x = draw(1000, dtype=dtype)
    moved, whole = disturbed(torch.exp, x), torch.int32 if dtype == torch.float32 else torch.int64
    assert moved.dtype == dtype
    steps = moved.view(whole).long() - x.exp().view(whole).long()
    assert set(steps.tolist()) == {-2, -1, 0, 1, 2}
    assert 300 < (steps > 0).sum() < 500  # as often up as down
    assert 300 < (steps < 0).sum() < 500


def test_a_draw_is_a_machine(x):
    one, again, other, first = (disturbed(weights, x, draw=n) for n in (1, 1, 2, 0))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert not torch.equal(first, weights(x))
    torch.testing.assert_close(one, weights(x), rtol=1e-14, atol=0)
    with DisturbedRounding(1):  # the same result moves the same way, wherever it is
        assert torch.equal(x.exp()[3:], x[3:].clone().exp())


ONES, INF = torch.ones(3, 4), torch.inf
EXACT = {
    "a product of ones": lambda x: ONES @ ONES.T,
    "a mean of ones": lambda x: ONES.mean(0),
    "a softmax of infinities": lambda x: (-INF * ONES).softmax(-1).isnan(),
    "exponentials of 0 and infinity": lambda x: torch.tensor([0.0, -INF, INF]).exp(),
    "a single sum, product, quotient": lambda x: (x + x.mT.reshape(7, 5)) * x / 3,
    "a sum of whole numbers": lambda x: torch.arange(5).sum(),
    "half precision": lambda x: x.half().exp(),
    "nothing": lambda x: torch.empty(0).exp(),
    "a stride": lambda x: x.reshape(5, 7).mT.exp().stride(),
    "a shape without numbers": lambda x: torch.zeros(3, device="meta").exp().is_meta,
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_exact_or_not_reached_stays(x, name):
    plain, moved = EXACT[name](x), disturbed(EXACT[name], x)
    same = torch.equal(plain, moved) if isinstance(plain, torch.Tensor) else plain == moved
    assert same


def test_no_result_crosses_a_power_of_two():
    """What is just below 1 stays below it; the largest number stays finite."""
    below = 1 - torch.finfo(torch.float64).eps / 2
    edge = torch.tensor([below, 1.7976931348623157e308, 5e-324, -5e-324], dtype=torch.float64)
    for draw in range(20):
        moved = disturbed(lambda: edge[:, None].sum(-1), draw=draw)
        assert moved[0] < 1
        assert moved.isfinite().all()
        assert (moved.sign() * edge.sign() >= 0).all()


@pytest.mark.parametrize("loss", [lambda x: weights(x).pow(3).sum(), lambda x: x.tanh().sum()])
def test_gradients_move_too(x, loss):
    x.requires_grad_()
    value = loss(x)
    (plain,) = torch.autograd.grad(value, x, retain_graph=True)
    (moved,) = disturbed(torch.autograd.grad, value, x)
    assert not torch.equal(moved, plain)
    torch.testing.assert_close(moved, plain, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("transform", [vmap, jacrev, lambda f: vmap(grad(lambda x: f(x).sum()))])
def test_transforms_are_reached(transform, draw):
    def f(x):
        return weights(x).sin()

    batch = draw(3, 4, 2) if transform is not jacrev else draw(4, 2)
    plain, moved = transform(f)(batch), disturbed(transform(f), batch)
    assert not torch.equal(moved, plain)
    torch.testing.assert_close(moved, plain, rtol=1e-12, atol=1e-14)


def test_vmap_moves_as_a_loop_does_and_code_can_be_compiled(draw, x):
    batch = draw(3, 4, 2)
    compiled = torch.compile(weights, fullgraph=True, backend="eager")
    with DisturbedRounding(1):
        together = vmap(lambda x: (x * x).exp())(batch)
        assert torch.equal(together, torch.stack([(x * x).exp() for x in batch]))
        torch.testing.assert_close(compiled(x), weights(x), rtol=1e-14, atol=0)
