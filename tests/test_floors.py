"""Floors come with a proof, which must fail for doubts that prove nothing."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

from selfattn_book.floors import doubts_bound, indicators, linear_floor
from selfattn_book.words import case_study, relative_words, reversal

LN2 = math.log(2)


def features_of(tokens):
    ones = one_hot(tokens, 5).double()
    return {
        "words": ones.sum(1),
        "placed words": ones.flatten(1),
        "bags": indicators(tokens.sort(dim=1).values),
        "sentences": indicators(tokens),
    }


@pytest.mark.parametrize("seed", range(5))
def test_doubts_bound_the_loss_of_any_weights(seed, draw):
    features, labels = draw(12, 3, seed=seed).double(), torch.arange(12.0) % 2
    floor = linear_floor(features, labels)
    for scale in (0.1, 1.0, 10.0):
        w = scale * draw(3, seed=seed + 100).double()
        loss = binary_cross_entropy_with_logits(features @ w, labels.double())
        assert loss > floor.lower


@pytest.mark.parametrize("seed", range(5))
def test_both_sides_meet_where_lbfgs_ends(seed, draw):
    features, labels = draw(30, 4, seed=seed).double(), torch.arange(30.0) % 2
    floor = linear_floor(features, labels)
    w = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    descent = torch.optim.LBFGS(
        [w],
        max_iter=200,
        line_search_fn="strong_wolfe",
        tolerance_grad=1e-12,
        tolerance_change=1e-16,
    )

    def closure():
        descent.zero_grad()
        loss = binary_cross_entropy_with_logits(features @ w, labels.double())
        loss.backward()
        return loss

    descent.step(closure)
    assert closure().item() == pytest.approx(floor.upper, abs=1e-10)
    assert floor.upper == pytest.approx(floor.lower, abs=1e-12)
    share = (-(2 * labels.double() - 1) * (features @ w)).sigmoid()
    torch.testing.assert_close(floor.doubts, share.detach(), atol=1e-4, rtol=0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_size_of_the_features_does_not_matter(scale):
    tokens, labels = case_study()
    for features in features_of(tokens).values():
        floor = linear_floor(scale * features, labels)
        assert floor.upper == pytest.approx(
            linear_floor(features, labels).upper, abs=1e-9
        )


def test_the_case_study_has_these_floors():
    tokens, labels = case_study()
    found = {
        name: linear_floor(f, labels) for name, f in features_of(tokens).items()
    }
    assert found["words"].upper == pytest.approx(LN2, abs=1e-14)
    assert found["bags"].upper == pytest.approx(3 * math.log(3) / 8, abs=1e-14)
    assert 0.40566 < found["placed words"].upper < 0.40568
    assert 0 <= found["sentences"].upper < 1e-12
    for floor in found.values():
        assert abs(floor.upper - floor.lower) < 1e-12


@pytest.mark.parametrize(
    ("data", "solved"),
    [
        (reversal, {"placed words", "sentences"}),
        (relative_words, {"bags", "sentences"}),
    ],
)
def test_the_two_halves_have_the_floors_of_the_first_chapter(data, solved):
    tokens, labels = data()
    for name, features in features_of(tokens).items():
        expected = 0 if name in solved else LN2
        assert linear_floor(features, labels).upper == pytest.approx(
            expected, abs=1e-12
        )


def test_a_far_start_does_not_throw_newton_off():
    """Steep features, on which the full step overshoots."""
    features = torch.tensor([[1.0, 30.0], [1.0, -1.0], [1.0, -25.0], [1.0, 2.0]])
    floor = linear_floor(features, torch.tensor([1.0, 0.0, 1.0, 0.0]))
    assert floor.upper - floor.lower < 1e-12


def test_doubts_that_prove_nothing_are_refused():
    tokens, labels = case_study()
    features = features_of(tokens)["placed words"]
    half = torch.full((8,), 0.5)
    with pytest.raises(
        ValueError, match="must balance in every feature; got a sum"
    ):
        doubts_bound(half, features, labels)
    assert doubts_bound(half, features_of(tokens)["words"], labels) == LN2
    for bad in (-0.1, 1.1):
        with pytest.raises(ValueError, match=f"between 0 and 1; got {bad}"):
            doubts_bound(torch.full((8,), bad), features, labels)


@pytest.mark.parametrize(
    "function", [linear_floor, lambda f, y: doubts_bound(y, f, y)]
)
def test_labels_are_checked(function):
    features = torch.ones(3, 2)
    with pytest.raises(ValueError, match=r"labels must be 0 or 1; got 0\.5"):
        function(features, torch.tensor([0.0, 0.5, 1.0]))
    with pytest.raises(ValueError, match="each row of features; got 2 and 3"):
        function(features, torch.ones(2))


def test_indicators_tell_different_rows_apart():
    rows = torch.randint(3, (40, 2), generator=torch.Generator().manual_seed(0))
    ones = indicators(rows)
    assert (ones.sum(1) == 1).all()
    assert set(ones.unique().tolist()) == {0, 1}
    alike = (rows[:, None] == rows).all(-1)
    assert torch.equal(ones @ ones.T == 1, alike)


def test_a_model_of_one_feature_a_row_is_a_table():
    """So its least loss is the mean entropy of the labels within each group."""
    place = torch.randint(4, (50, 1), generator=torch.Generator().manual_seed(1))
    labels = (torch.arange(50) % 3 == 0).double()
    shares = [labels[place[:, 0] == k].mean() for k in range(4)]
    counts = place[:, 0].bincount(minlength=4)
    nats = [
        torch.distributions.Bernoulli(probs=share).entropy() for share in shares
    ]
    expected = sum(c * n for c, n in zip(counts, nats, strict=True)) / 50
    floor = linear_floor(indicators(place), labels)
    assert floor.upper == pytest.approx(expected.item(), abs=1e-12)


def test_a_linear_layer_is_such_a_model():
    features, labels = torch.eye(4).double(), torch.tensor([1.0, 0.0, 1.0, 0.0])
    layer = nn.Linear(4, 1, dtype=torch.float64)
    loss = binary_cross_entropy_with_logits(layer(features)[:, 0], labels.double())
    assert loss > linear_floor(features, labels).lower
