"""What came after earlier copies, against loops that ask cell by cell."""

import pytest
import torch

from selfattn_book.measure.induction import (
    after_copies,
    induction_score,
    share_copied,
)


@pytest.fixture
def tokens():
    return torch.randint(4, (3, 11), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_cells_are_those_of_the_definition(tokens, steps):
    cells = after_copies(tokens, steps)
    assert cells.shape == (3, 11, 11)
    for b, row in enumerate(tokens.tolist()):
        for i in range(11):
            for j in range(11):
                wanted = steps <= j <= i and row[j - steps] == row[i]
                assert bool(cells[b, i, j]) == wanted


def test_nothing_wraps_around():
    tokens = torch.tensor([[7, 1, 2, 7]])
    assert not after_copies(tokens)[0, :, 0].any()
    assert not after_copies(tokens, steps=3)[0, :, :3].any()


@pytest.mark.parametrize("steps", [1, 2])
def test_the_score_is_the_mean_over_queries_with_a_copy(tokens, steps, draw):
    weights = draw(3, 2, 11, 11, seed=2).softmax(-1)
    total, count = torch.zeros(2, dtype=weights.dtype), 0
    for b, row in enumerate(tokens.tolist()):
        for i in range(11):
            if row[i] not in row[:i]:
                continue
            count += 1
            for j in range(steps, i + 1):
                if row[j - steps] == row[i]:
                    total += weights[b, :, i, j]
    torch.testing.assert_close(induction_score(weights, tokens, steps), total / count)


def test_heads_are_not_exchanged(tokens, draw):
    weights = draw(3, 2, 11, 11, seed=3).softmax(-1)
    score = induction_score(weights, tokens)
    turned = induction_score(weights.flip(1), tokens)
    torch.testing.assert_close(score.flip(0), turned)
    assert not torch.allclose(score, turned)


def test_only_places_with_a_copy_are_asked():
    tokens = torch.tensor([[0, 1, 0, 1]])
    logits = torch.zeros(1, 3, 2)
    logits[0, 2, 1] = 1.0  # right where a copy tells; wrong before, which is not asked
    logits[0, 0, 0] = 1.0
    assert share_copied(logits, tokens) == 1.0
    logits[0, 2, 0] = 2.0
    assert share_copied(logits, tokens) == 0.0


def test_inputs_stay_as_they_are(tokens, draw):
    weights = draw(3, 2, 11, 11).softmax(-1)
    before = tokens.clone(), weights.clone()
    induction_score(weights, tokens)
    assert tokens.equal(before[0])
    assert weights.equal(before[1])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: after_copies(t > 0), TypeError, "integers; got torch.bool"),
        (lambda t: after_copies(t, 0), ValueError, "steps must be at least 1"),
        (
            lambda t: induction_score(torch.ones(3, 11, 11), t),
            ValueError,
            r"\(3, H, 11, 11\); got \(3, 11, 11\)",
        ),
        (
            lambda t: share_copied(torch.ones(3, 11, 4), t),
            ValueError,
            r"\(3, 10, V\); got \(3, 11, 4\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tokens, call, error, message):
    with pytest.raises(error, match=message):
        call(tokens)
