"""Another machine's rounding: small, the same each time, and felt wherever sums are made."""

import pytest
import torch
from bookproof.verify.disturbed import DisturbedRounding
from torch.func import grad, jacrev, vmap


def units(moved, x):
    """Return by how many units in the last place numbers differ."""
    whole = torch.int32 if x.dtype == torch.float32 else torch.int64
    return moved.view(whole).long() - x.view(whole).long()


@pytest.fixture
def x(draw):
    return draw(7, 5)


def weights(x):
    return (x @ x.mT).softmax(-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_results_move_by_two_units_at_most(dtype, draw):
    x = draw(1000, dtype=dtype)
    plain = x.exp()
    with DisturbedRounding(1):
        moved = x.exp()
    assert moved.dtype == dtype
    steps = units(moved, plain)
    assert set(steps.tolist()) == {-2, -1, 0, 1, 2}
    assert 300 < (steps > 0).sum() < 500  # as often up as down
    assert 300 < (steps < 0).sum() < 500


def test_a_draw_is_a_machine(x):
    def on(draw):
        with DisturbedRounding(draw):
            return weights(x)

    assert torch.equal(on(1), on(1))
    assert not torch.equal(on(1), on(2))
    assert not torch.equal(on(0), weights(x))
    torch.testing.assert_close(on(1), weights(x), rtol=1e-14, atol=0)


def test_the_same_result_moves_the_same_way_wherever_it_stands(x):
    with DisturbedRounding(1):
        assert torch.equal(x.exp()[3:], x[3:].clone().exp())


def test_what_is_exact_stays():
    ones = torch.ones(3, 4)
    with DisturbedRounding(1):
        assert torch.equal(ones @ ones.T, torch.full((3, 3), 4.0))
        assert torch.equal(ones.mean(0), torch.ones(4))
        assert torch.equal((-torch.inf * ones).softmax(-1).isnan(), ones > 0)
        assert torch.equal(torch.tensor([0.0, -torch.inf]).exp(), torch.tensor([1.0, 0]))
        assert torch.tensor(torch.inf).exp() == torch.inf


def test_single_sums_products_and_quotients_stay(x):
    plain = (x + x.mT.reshape(7, 5)) * x / 3
    with DisturbedRounding(1):
        assert torch.equal((x + x.mT.reshape(7, 5)) * x / 3, plain)


def test_no_result_crosses_a_power_of_two():
    """What is just below 1 stays below it; the largest number stays finite."""
    below = 1 - torch.finfo(torch.float64).eps / 2
    edge = torch.tensor([below, 1.7976931348623157e308, 5e-324, -5e-324], dtype=torch.float64)
    for draw in range(20):
        with DisturbedRounding(draw):
            moved = edge[:, None].sum(-1)
        assert moved[0] < 1
        assert moved.isfinite().all()
        assert (moved.sign() * edge.sign() >= 0).all()


def test_numbers_that_are_not_rounded_so_stay(draw):
    with DisturbedRounding(1):
        assert torch.arange(5).sum() == 10
        half = draw(50, dtype=torch.float16)
        assert torch.equal(half.exp(), half.float().exp().half())
        assert torch.zeros(3, device="meta").exp().is_meta
        assert torch.empty(0).exp().shape == (0,)


def test_gradients_move_too(x):
    x.requires_grad_()
    loss = weights(x).pow(3).sum()
    (plain,) = torch.autograd.grad(loss, x, retain_graph=True)
    with DisturbedRounding(1):
        (moved,) = torch.autograd.grad(loss, x)
    assert not torch.equal(moved, plain)
    torch.testing.assert_close(moved, plain, rtol=1e-12, atol=1e-14)


def test_what_only_a_gradient_computes_moves(x):
    x.requires_grad_()
    (plain,) = torch.autograd.grad(x.tanh().sum(), x)
    loss = x.tanh().sum()
    with DisturbedRounding(1):
        (moved,) = torch.autograd.grad(loss, x)
    assert not torch.equal(moved, plain)


@pytest.mark.parametrize("transform", [vmap, jacrev, lambda f: vmap(grad(lambda x: f(x).sum()))])
def test_transforms_are_reached(transform, draw):
    def f(x):
        return weights(x).sin()

    batch = draw(3, 4, 2) if transform is not jacrev else draw(4, 2)
    plain = transform(f)(batch)
    with DisturbedRounding(1):
        moved = transform(f)(batch)
    assert not torch.equal(moved, plain)
    torch.testing.assert_close(moved, plain, rtol=1e-12, atol=1e-14)


def test_vmap_moves_as_a_loop_does(draw):
    batch = draw(3, 4, 2)
    with DisturbedRounding(1):
        together = vmap(lambda x: (x * x).exp())(batch)
        assert torch.equal(together, torch.stack([(x * x).exp() for x in batch]))


def test_code_can_be_compiled(x):
    compiled = torch.compile(weights, fullgraph=True, backend="eager")
    with DisturbedRounding(1):
        torch.testing.assert_close(compiled(x), weights(x), rtol=1e-14, atol=0)


def test_the_layout_of_a_result_stays(draw):
    """What comes next may count on it."""
    x = draw(3, 4, 5).permute(2, 0, 1)
    with DisturbedRounding(1):
        assert x.exp().stride() == x.stride()
