"""Loss floors and their dual certificates, which are refused if they prove nothing."""

import math
from fractions import Fraction

import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot

from selfattn_book.experiments.words import case_study
from selfattn_book.measure import floors
from selfattn_book.measure.floors import doubts_bound, indicators, linear_floor

LN2 = math.log(2)


def features_of(tokens):
    ones = one_hot(tokens, 5).double()
    return {
        "words": ones.sum(1),
        "words at positions": ones.flatten(1),
        "bags": indicators(tokens.sort(dim=1).values),
        "sentences": indicators(tokens),
    }


def random_set(kind, number):
    """Draw up to 13 sentences with up to 6 features; many are separable, or half of them are."""
    generator = torch.Generator().manual_seed(number)
    size, width = (int(torch.randint(*ends, (), generator=generator)) for ends in SIZES)
    labels = torch.randint(2, (size,), generator=generator).double()
    lowest, highest = KINDS[kind]
    rows = torch.randint(lowest, highest, (size, width), generator=generator).double()
    if kind == "any numbers":
        rows += torch.rand(size, width, generator=generator, dtype=torch.float64)
    if kind == "partly separable":  # a feature that some sentences have, of the right sign
        rows[:, 0] = (2 * labels - 1) * (rows[:, 0] > 0)
    scales = 20 * torch.rand(3, width, generator=generator, dtype=torch.float64) - 10
    return rows, labels, 10 ** scales[0]


SIZES = ((2, 14), (1, 7))
KINDS = {"whole numbers": (-3, 4), "partly separable": (-3, 4)}
KINDS |= {"0 and 1": (0, 2), "any numbers": (-3, 3)}


@pytest.mark.parametrize("kind", KINDS)
def test_random_sets_are_solved_at_any_scale(kind):
    """Each of 100 sets with features of order one, of 1e-10, of 1e10, and each of its own."""
    solved, generator = [], torch.Generator().manual_seed(0)
    for number in range(100):
        rows, labels, scales = random_set(kind, number)
        features = rows * (1.0, 1e-10, 1e10, scales)[number % 4]
        lower, upper, doubts = linear_floor(features, labels)
        assert 0 <= upper - lower < 1e-15
        assert doubts_bound(doubts, features, labels) == lower
        w = torch.randn(rows.size(1), 9, generator=generator, dtype=torch.float64)
        z = features / features.abs().amax().clamp(min=1e-300) @ w
        losses = nn.functional.softplus((1 - 2 * labels)[:, None] * z).mean(0)
        assert (losses > lower - 1e-12).all()
        solved.append(upper)
    assert min(solved) == 0 < max(solved)


def test_wrong_steps_cannot_move_a_bound_to_the_other_side(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    lstsq = torch.linalg.lstsq

    def disturbed(matrix, right):
        found = lstsq(matrix, right).solution
        noise = torch.randn(found.shape, generator=generator, dtype=found.dtype)
        return torch.return_types.linalg_lstsq((found + size * noise, *[noise] * 3))

    for number in range(30):
        rows, labels, _ = random_set("any numbers", number)
        true = linear_floor(rows, labels).upper
        for size in (1e-9, 1e-3, 1.0):
            with monkeypatch.context() as patch:
                patch.setattr(floors.torch.linalg, "lstsq", disturbed)
                lower, upper, _ = linear_floor(rows, labels, steps=20)
            assert lower <= true <= upper
            assert size > 1e-9 or upper - lower < 1e-12


def test_the_case_study_has_these_floors():
    tokens, labels = case_study()
    found = {name: linear_floor(f, labels) for name, f in features_of(tokens).items()}
    assert found["words"] == (LN2, LN2, [Fraction(1, 2)] * 8)
    assert found["bags"].upper == pytest.approx(3 * math.log(3) / 8, abs=1e-15)
    assert 0.40566998 < found["words at positions"].upper < 0.40566999
    assert found["sentences"] == (0, 0, [0] * 8)
    doubts = found["bags"].doubts  # near to thirds, and yet exactly in balance
    thirds = [1 / 3, 0, 0, 0, 1 / 3, 2 / 3, 1 / 2, 1 / 2]
    assert [float(d) for d in doubts] == pytest.approx(thirds, abs=1e-9)
    assert (doubts[0] + doubts[4], doubts[6]) == (doubts[5], doubts[7])
    for floor in found.values():
        assert 0 <= floor.upper - floor.lower < 1e-15


def test_indicators_tell_different_rows_apart():
    rows = torch.randint(3, (40, 2), generator=torch.Generator().manual_seed(0))
    ones = indicators(rows)
    assert (ones.sum(1) == 1).all()
    assert set(ones.unique().tolist()) == {0, 1}
    alike = (rows[:, None] == rows).all(-1)
    assert torch.equal(ones @ ones.T == 1, alike)


HARD = {
    "far ends of the numbers": ([[1e300], [1e-300], [-1.0], [2.0]], [1, 0, 0, 0]),
    # Three times 1e-9 is not three times as large: without exchanges, coefficients reach 1e16.
    "almost dependent": (
        [[3e4, 3e-9], [1e4, 1e-9], [3e4, -3e-9], [-3e4, 1e-9], [-3e4, -2e-9], [-3e4, -2e-9]],
        [1] * 6,
    ),
    "steep, where the full step overshoots": (
        [[1, 30], [1, -1], [1, -25], [1, 2]],
        [1, 0, 1, 0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HARD)
def test_hard_sets_are_solved(kind):
    features, labels = (torch.tensor(part, dtype=torch.float64) for part in HARD[kind])
    lower, upper, doubts = linear_floor(features, labels.bool())
    assert 0 <= upper - lower < 1e-15
    assert doubts_bound(doubts, features, labels) == lower


@pytest.mark.parametrize(
    ("doubts", "rows", "labels", "message"),
    [
        ([0.5, 0.5], [[1e-10]] * 2, [1, 1], "balance in every feature; got a sum of 1e-10"),
        ([1 / 3, 1 / 3, math.nextafter(2 / 3, 1)], [[1]] * 3, [1, 1, 0], "sum of -1.11022e-16"),
        ([-0.1, 0], [[1]] * 2, [1, 0], "between 0 and 1; got -0.1"),
        ([1.1, 0], [[1]] * 2, [1, 0], "between 0 and 1; got 1.1"),
        ([0.5], [[1]] * 2, [1, 0], "doubt for each row of features; got 1 and 2"),
        ([0, 0], [[1]] * 2, [0.5, 1], "labels must be 0 or 1; got 0.5"),
        ([0, 0], [[1]] * 2, [1], "each row of features; got 1 and 2"),
        ([0, 0], [[1], [math.inf]], [1, 1], "features must be finite; got inf"),
    ],
)
def test_doubts_that_prove_nothing_are_refused(doubts, rows, labels, message):
    features, labels = (torch.tensor(x, dtype=torch.float64) for x in (rows, labels))
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        doubts_bound(doubts, features, labels)
    assert message in str(refused.value)


def test_features_that_can_separate_have_no_floor_but_0():
    assert linear_floor(torch.full((2, 1), 1e-10), torch.ones(2)) == (0, 0, [0, 0])
    rows = torch.tensor([[1, 0, 1, 1], [1, 0, 0, 0], [1, 1, 0, 1], [1, 0, 0, 0]])
    floor = linear_floor(rows, torch.tensor([1, 1, 0, 0]))
    assert floor == (LN2 / 2, LN2 / 2, [0, Fraction(1, 2), 0, Fraction(1, 2)])
